-- Version 13: values of an event, in addition to its text: `{"setting": {"name": …, "from": …,
-- "to": …}}`, `{"kernel_log": …}`, and `"on_server_host": true` for events on the server's host.
-- Only this step parses the text of older events. Ambiguous text (a value with ` to ` in it) gets
-- no values.

ALTER TABLE event ADD COLUMN detail TEXT;

UPDATE event SET detail = json_object('setting', json_object(
    'name', substr(text, 1, instr(text, ' went from ') - 1),
    'from', substr(moved, 1, instr(moved, ' to ') - 1),
    'to', substr(moved, instr(moved, ' to ') + 4)))
FROM (SELECT run_id AS run, number AS at, substr(text, instr(text, ' went from ') + 11) AS moved
      FROM event WHERE kind = 'setting' AND instr(text, ' went from ') > 1)
WHERE run_id = run AND number = at AND instr(moved, ' to ') > 0
  AND instr(substr(moved, instr(moved, ' to ') + 1), ' to ') = 0;

UPDATE event SET detail = json_object('kernel_log', substr(text, 9))
WHERE kind = 'note' AND text LIKE 'kernel: %';

UPDATE event SET detail = json_patch(json_object('on_server_host', json('true')),
    iif(text LIKE 'On the server''s host: kernel: %', json_object('kernel_log', substr(text, 31)),
        '{}'))
WHERE text LIKE 'On the server''s host: %';
