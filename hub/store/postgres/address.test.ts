/** Addresses of databases: what is encrypted, what is refused, and that nothing says a password. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { StoreRefused } from '../port.ts'
import { addressOf } from './address.ts'
import { connectTo } from './connections.ts'
import { type ServerSettings, unfitFor } from './fitness.ts'

test('names role, host, port, database and password, each written as in any address', () => {
  expect(addressOf('postgres://svc%40hub:p%3Aw@db.example:6432/mail')).toEqual({
    ...{ user: 'svc@hub', password: 'p:w', host: 'db.example', port: 6432, database: 'mail', tls: {} },
  })
  expect(addressOf('postgresql://svc@[::1]')).toEqual({
    ...{ user: 'svc', password: undefined, host: '::1', port: 5432, database: 'svc', tls: false },
  })
})

test.each([
  ['postgres://svc@db.example/mail', true],
  ['postgres://svc@192.0.2.1/mail', true],
  ['postgres://svc@127.0.0.1.example/mail', true],
  ['postgres://svc@localhost/mail?sslmode=verify-full', true],
  ['postgres://svc@db.example/mail?sslmode=require', true],
  ['postgres://svc@db.example/mail?sslrootcert=system', true],
  ['postgres://svc@db.example/mail?sslmode=disable', false],
  ['postgres://svc@localhost/mail', false],
  ['postgres://svc@127.1.2.3/mail', false],
  ['postgres://svc@localhost/mail?host=/run/postgresql', false],
])('%s is encrypted, and its certificate checked: %s', (url, encrypted) => {
  expect(addressOf(url).tls).toEqual(encrypted ? {} : false)
})

test.each([
  ['mysql://svc:secret@db.example/mail', /cannot be read; give it as postgres:\/\/role@host:5432\/name/],
  ['postgres://svc:secret@db.example:port/mail', /cannot be read/],
  ['secret', /cannot be read/],
  ['postgres://:secret@db.example/mail', /no host or role/],
  ['postgres:///mail', /no host or role/],
  ['postgres://svc:se%cret@db.example/mail', /stray %; write it as %25/],
  ['postgres://svc:secret@db.example/mail?sslmode=prefer', /use verify-full/],
  ['postgres://svc:secret@db.example/mail?sslmode=no-verify', /use verify-full/],
  [
    'postgres://svc:secret@db.example/mail?target=x',
    /an option that is not known here: target; leave it out/,
  ],
  ['postgres://svc:secret@db.example/mail?sslcert=/a', /one of sslcert and sslkey; name both/],
  ['postgres://svc:secret@db.example/mail?sslrootcert=/none', /\/none cannot be read: there is no such file/],
])('%s is refused without its password', (url, sentence) => {
  const read = () => addressOf(url)
  expect(read).toThrow(StoreRefused)
  expect(read).toThrow(sentence)
  expect(read).not.toThrow(/secret|se%cret/)
})

test('connections show no password, and a file that holds one must be there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'password-'))
  const file = join(folder, 'password')
  writeFileSync(file, 'in-file\n')
  const connections = connectTo('postgres://svc:in-address@db.example/mail', { passwordFile: file })
  expect(inspect(connections, { depth: 9, showHidden: true })).not.toMatch(/in-file|in-address/)
  await connections.close()
  expect(() => connectTo('postgres://svc@db.example/mail', { passwordFile: `${file}-none` })).toThrow(
    /cannot be read: there is no such file; name another file/,
  )
  rmSync(folder, { recursive: true })
})

const FIT: ServerSettings = {
  version: 150_004,
  release: '15.4',
  commit: 'on',
  encoding: 'UTF8',
  fsync: 'on',
  pages: 'on',
}

test.each<[Partial<ServerSettings>, RegExp | undefined]>([
  [{}, undefined],
  [{ commit: 'remote_apply' }, undefined],
  [{ version: 180_001, release: '18.1' }, undefined],
  [{ version: 140_012, release: '14.12' }, /is PostgreSQL 14\.12, and the hub needs 15 or newer; upgrade/],
  [{ commit: 'off' }, /synchronous_commit is off; set it to on/],
  [{ fsync: 'off' }, /fsync is off; set it to on/],
  [{ pages: 'off' }, undefined],
  [{ encoding: 'LATIN1' }, /holds LATIN1, and the hub writes UTF8; create a database/],
])('a server with %j is taken, or refused with what to do', (settings, sentence) => {
  const unfit = unfitFor({ ...FIT, ...settings })
  if (sentence === undefined) expect(unfit).toBeUndefined()
  else expect(unfit).toMatch(sentence)
})
