
-- Version 5: store the target's protocol in addition to its URL.

UPDATE run SET
    head = json_set(head, '$.target.family', CASE
        WHEN json_extract(head, '$.target.url') LIKE 'sqlite:%' THEN 'sqlite'
        WHEN json_extract(head, '$.target.url') LIKE 'postgres%' THEN 'postgres'
        WHEN json_extract(head, '$.target.url') LIKE 'mysql:%' THEN 'mysql'
        WHEN json_extract(head, '$.target.url') LIKE 'mariadb:%' THEN 'mysql'
        END);

UPDATE run SET
    summary = json_set(summary, '$.target.family', CASE
        WHEN json_extract(summary, '$.target.url') LIKE 'sqlite:%' THEN 'sqlite'
        WHEN json_extract(summary, '$.target.url') LIKE 'postgres%' THEN 'postgres'
        WHEN json_extract(summary, '$.target.url') LIKE 'mysql:%' THEN 'mysql'
        WHEN json_extract(summary, '$.target.url') LIKE 'mariadb:%' THEN 'mysql'
        END)
WHERE summary IS NOT NULL;
