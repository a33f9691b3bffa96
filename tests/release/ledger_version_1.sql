-- A ledger as version 1 of its layout wrote it: sqlite3 .dump of the file, with the two numbers of its header.
PRAGMA application_id = 1397115975;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT NOT NULL, "column" TEXT NOT NULL, scope TEXT NOT NULL,
    space TEXT NOT NULL, unit TEXT NOT NULL, metric TEXT NOT NULL, promise TEXT NOT NULL, mechanism TEXT NOT NULL,
    noise TEXT NOT NULL, "rows" INTEGER, times INTEGER NOT NULL CHECK (times > 0),
    charged INTEGER NOT NULL CHECK (charged >= 0), "key" TEXT, data TEXT, token TEXT UNIQUE,
    note TEXT NOT NULL, chain TEXT NOT NULL);
INSERT INTO "entries" VALUES(1,'2026-11-16T08:36:23.668+00:00','d','c','','line(3)','','da530b0af9cb4c6bf678e62fe6e6844ec4f70de3b0d586727a5f3c65a10b6226','alpha 1/2','b497f86507d8b887699b1c864b3683f00802c2d6f47ae2eee3e6ddbcad01f67d','52221a4abce17be7ca37ec24fe3fe7b7811f9ab4d223bdda3006f53a42138566',1000,2,2,NULL,NULL,'a','first wave','c2013a542edd536e7eb1405dc04c5234a6f7727a7a023ee86d043e6613409e36');
INSERT INTO "entries" VALUES(2,'2026-11-16T08:36:23.705+00:00','d','c','May','discrete(3)','','7323e26032c88bbd31bc1b573e064b48985748b65a217da98e85058ed0fc758d','epsilon 1/4','a39ea07cbef13ebd4e3eaf2120f2af7e2453f60e713532fb834e22b4531fb0e8','208bc0c8e9ba5c93147445efed9cbd3e37ea72697e11524d44512d70e4d8dde8',NULL,1,1,NULL,NULL,NULL,'','362574e04891979f2f1b5c7c2f0fd26aeb7490d784ad92889e91d8369b02974a');
INSERT INTO "entries" VALUES(3,'2026-11-16T08:36:23.744+00:00','d','e','','line(3)','','da530b0af9cb4c6bf678e62fe6e6844ec4f70de3b0d586727a5f3c65a10b6226','alpha 1/2','b497f86507d8b887699b1c864b3683f00802c2d6f47ae2eee3e6ddbcad01f67d','52221a4abce17be7ca37ec24fe3fe7b7811f9ab4d223bdda3006f53a42138566',NULL,1,1,'d2da1d1413409d80d849b94ad1cf5b5a5ba4b8b060a109cac7cb45f0e2a316c1','v1',NULL,'','b1d1449271011986812c75a893a0d896a812b649fcbb254c37136d8b45104a7f');
INSERT INTO "entries" VALUES(4,'2026-11-16T08:36:23.780+00:00','d','e','','line(3)','','da530b0af9cb4c6bf678e62fe6e6844ec4f70de3b0d586727a5f3c65a10b6226','alpha 1/2','b497f86507d8b887699b1c864b3683f00802c2d6f47ae2eee3e6ddbcad01f67d','52221a4abce17be7ca37ec24fe3fe7b7811f9ab4d223bdda3006f53a42138566',NULL,1,0,'d2da1d1413409d80d849b94ad1cf5b5a5ba4b8b060a109cac7cb45f0e2a316c1','v1',NULL,'','079123bc62dbc2fc41a6b7c2bd42d3830377ab6bf54a6eaa390e8be25986d804');
INSERT INTO "entries" VALUES(5,'2026-11-16T08:36:23.808+00:00','d','x, y','','grid(20, 20)','','70ab6acdcd55d16f6dd76aafdaf2c96e5e0da465db7e65c2d8fe494de8f851ca','epsilon 2','7e7459704e26a2c94ab5ff984b2f2dda5c1b68b717d170f52de965ad2eda53f4','7e7459704e26a2c94ab5ff984b2f2dda5c1b68b717d170f52de965ad2eda53f4',NULL,1,1,'d2da1d1413409d80d849b94ad1cf5b5a5ba4b8b060a109cac7cb45f0e2a316c1','v1',NULL,'','069a68805e0afb06a74b1e17eca947efa143497dbced741899bcff611024d0b6');
INSERT INTO "entries" VALUES(6,'2026-11-16T08:36:23.848+00:00','d','z','','[0, 1]','','c8a84825a525fd8204412ede0cd9663372a1298862ea0d66c07390f5f18bc874','epsilon 1','f58a8873d4ed2a4f3a91cd4884df17929f0e8ea727046ba0971f0e97542034a0','f58a8873d4ed2a4f3a91cd4884df17929f0e8ea727046ba0971f0e97542034a0',NULL,1,1,'d2da1d1413409d80d849b94ad1cf5b5a5ba4b8b060a109cac7cb45f0e2a316c1','v1',NULL,'','4ab695659c5f0fbb74293ee7a63638a9ddfb16c3b3a192b6608b5ab1cdbb67d1');
CREATE TABLE limits (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT, columns TEXT, promise TEXT, unit TEXT,
    chain TEXT NOT NULL);
INSERT INTO "limits" VALUES(1,'2026-11-16T08:36:23.566+00:00',NULL,NULL,'epsilon 9',NULL,'7217ef906737623307e5e17f69faa13635b8714542266f98b36ef7b811717d27');
INSERT INTO "limits" VALUES(2,'2026-11-16T08:36:23.636+00:00','d','["x", "y"]','epsilon 20','','d0b4911aab9e0f5313bcb96d4942d84adb05b3a609cbcdd3ce0a31aac3aecd56');
CREATE INDEX spent ON entries (dataset, "column", scope, unit, metric, space, promise, charged);
CREATE INDEX again ON entries ("key", "column", noise) WHERE "key" IS NOT NULL;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay as they are'); END;
CREATE TRIGGER limits_are_kept BEFORE DELETE ON limits BEGIN SELECT RAISE(ABORT, 'limits are kept'); END;
CREATE TRIGGER limits_stay BEFORE UPDATE ON limits BEGIN SELECT RAISE(ABORT, 'limits stay as they are'); END;
COMMIT;
