-- delete
DELETE FROM pi1 WHERE transactionid IN (SELECT transactionid FROM pi1 WHERE transactionid >= ? ORDER BY transactionid LIMIT ?);
-- delete_range
DELETE FROM pi1 WHERE transactionid >= ? AND transactionid < ?;
-- marketsegment_2023
SELECT price, customerid FROM pi1 WHERE price >= ? ORDER BY price, customerid LIMIT 10;
-- marketsegment_2026
SELECT productid, customerid, price FROM pi1 WHERE productid >= ? ORDER BY productid, customerid, price LIMIT 10;
-- max_key
SELECT MAX(transactionid) FROM pi1;
-- min_key
SELECT MIN(transactionid) FROM pi1;
-- pdc_2023
SELECT price, dateandtime, customerid FROM pi1 WHERE price >= ? ORDER BY price, dateandtime, customerid LIMIT 10;
-- pdc_2026
SELECT price, dateandtime, customerid FROM pi1 WHERE price >= ? ORDER BY price, dateandtime, customerid LIMIT 10;
-- points
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
-- registersegment_2023
SELECT cashregisterid, price, customerid FROM pi1 WHERE cashregisterid > ? ORDER BY cashregisterid, price, customerid LIMIT 10;
-- registersegment_2026
SELECT cashregisterid, customerid, price FROM pi1 WHERE cashregisterid > ? ORDER BY cashregisterid, customerid, price LIMIT 10;
