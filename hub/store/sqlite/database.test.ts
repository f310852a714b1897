/** Damage that a connection comes upon, with the first row or on its way. */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Database, faultClass, openReader, openWriter } from './database.ts'

test('is told as the connection says, also where rows before it could be read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-damage-'))
  const path = join(folder, 'a.db')
  const writer = openWriter(path)
  writer.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)')
  for (let n = 0; n < 100; n++) writer.run('INSERT INTO t (text) VALUES (?)', 'x'.repeat(2000))
  writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  writer.close()
  const half = Math.floor(statSync(path).size / 8192) * 4096
  const file = openSync(path, 'r+')
  writeSync(file, new Uint8Array(half), 0, half, half)
  closeSync(file)
  const reader = openReader(path)
  const met: string[] = []
  reader.onFault = error => {
    met.push(faultClass(error))
    return new Error('told')
  }
  let rows = 0
  const readEach = (db: Database) => {
    for (const _ of db.each('SELECT text FROM t')) rows++
  }
  expect(() => readEach(reader)).toThrow('told')
  expect(rows).toBeGreaterThan(0)
  expect(() => reader.all('SELECT text FROM t')).toThrow('told')
  expect(() => reader.one('SELECT text FROM t WHERE id = 100')).toThrow('told')
  expect(met).toEqual(['broken', 'broken', 'broken'])
  reader.close()
  rmSync(folder, { recursive: true })
})
