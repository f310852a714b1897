import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { autoReplySettings, checkConfig, parseConfig, readConfig, writeConfig } from './config.ts'
import {
  announceDaemon,
  CONTROL_PORT_FIRST,
  checkIdentityName,
  chooseIdentity,
  freeControlPort,
  identityNames,
  purgeIdentity,
  runningDaemons,
  runtimeDirectories,
  runtimeDirectory,
  selectIdentity,
  withdrawDaemon,
} from './home.ts'
import { ensureToken, isBearer } from './token.ts'

const fresh = () => mkdtempSync(join(tmpdir(), 'svc-home-'))

describe('identity selection', () => {
  test('--id is stronger than SVC_ID, SVC_DATA_DIR, id use and default, in this order', () => {
    const home = fresh()
    for (const name of ['a', 'b', 'c']) mkdirSync(join(home, 'ids', name), { recursive: true })
    const env = { SVC_HOME: home, SVC_ID: 'b', SVC_DATA_DIR: join(home, 'elsewhere') }
    chooseIdentity(env, 'c')
    expect(selectIdentity(env, 'a').name).toBe('a')
    expect(selectIdentity(env).name).toBe('b')
    expect(selectIdentity({ ...env, SVC_ID: undefined }).dir).toBe(join(home, 'elsewhere'))
    expect(selectIdentity({ SVC_HOME: home }).name).toBe('c')
    chooseIdentity(env, 'default')
    expect(selectIdentity({ SVC_HOME: home })).toEqual({ name: 'default', dir: home, explicit: true })
    expect(selectIdentity({}).explicit).toBe(false)
  })

  test('names match the pattern, "ids" is reserved, "default" may be selected but not created', () => {
    expect(checkIdentityName('a.b-c_1', 'create')).toBe('a.b-c_1')
    for (const name of ['', '-a', '.a', 'a/b', 'ids', 'a'.repeat(65), '../../x'])
      expect(() => checkIdentityName(name, 'select')).toThrow()
    expect(checkIdentityName('default', 'select')).toBe('default')
    expect(() => checkIdentityName('default', 'create')).toThrow(/cannot be created/)
    expect(() => checkIdentityName('default', 'remove')).toThrow(
      /cannot be deleted by name.*svc id deactivate/,
    )
  })

  test('a purged identity that was in use falls back to default', () => {
    const env = { SVC_HOME: fresh() }
    mkdirSync(join(env.SVC_HOME, 'ids', 'bob'), { recursive: true })
    chooseIdentity(env, 'bob')
    purgeIdentity(env, 'bob')
    expect([selectIdentity(env).name, identityNames(env)]).toEqual(['default', []])
    expect(() => chooseIdentity(env, 'bob')).toThrow(/svc id new bob/)
  })
})

describe('pointer files', () => {
  const entry = (pid: number, started: number) => ({
    pid,
    control_addr: '127.0.0.1:39811',
    data_dir: '/x',
    id: null,
    aid: 'A',
    started_at: started,
  })

  test('daemon.json points at a single daemon and is gone with none or several', () => {
    const dir = runtimeDirectory({ SVC_RUNTIME_DIR: join(fresh(), 'run') })
    announceDaemon(dir, entry(process.pid, 1))
    expect(statSync(join(dir, 'daemon.json')).mode & 0o777).toBe(0o600)
    announceDaemon(dir, entry(process.ppid, 2))
    expect(() => statSync(join(dir, 'daemon.json'))).toThrow()
    withdrawDaemon(dir, process.ppid)
    expect(runningDaemons(dir).map(daemon => daemon.pid)).toEqual([process.pid])
    expect(statSync(join(dir, 'daemon.json')).isFile()).toBe(true)
  })

  test('they stand under XDG_RUNTIME_DIR, read first, and at the specified path; one that is not private is passed over', () => {
    const [shared, session, home] = [fresh(), fresh(), fresh()]
    const env = { XDG_RUNTIME_DIR: session, SVC_HOME: home }
    const specified = join(shared, `svc-${process.getuid?.()}`)
    expect(runtimeDirectories(env, shared)).toEqual([join(session, 'svc'), specified])
    chmodSync(specified, 0o775)
    expect(runtimeDirectories(env, shared)).toEqual([join(session, 'svc')])
    expect(runtimeDirectories({ SVC_HOME: home }, shared)).toEqual([join(home, 'run')])
    expect(runtimeDirectories({ XDG_RUNTIME_DIR: 'relative', SVC_HOME: home }, shared)).toEqual([
      join(home, 'run'),
    ])
  })

  test('an entry of a dead process or a torn one is cleared away', () => {
    const dir = runtimeDirectory({ SVC_RUNTIME_DIR: join(fresh(), 'run') })
    announceDaemon(dir, entry(2 ** 22 + 1, 1))
    writeFileSync(join(dir, 'daemons', '7.json'), '{')
    expect(runningDaemons(dir)).toEqual([])
  })

  test('a runtime directory that others could look into is closed to them, one that they could change is refused', () => {
    const run = join(fresh(), 'run')
    mkdirSync(run)
    chmodSync(run, 0o755)
    expect(runtimeDirectory({ SVC_RUNTIME_DIR: run })).toBe(run)
    expect(statSync(run).mode & 0o777).toBe(0o700)
    chmodSync(run, 0o770)
    expect(() => runtimeDirectory({ SVC_RUNTIME_DIR: run })).toThrow(
      `other users can change ${run}; look through it, then: chmod 700 ${run}`,
    )
    const file = join(fresh(), 'run')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'below')])
      expect(() => runtimeDirectory({ SVC_RUNTIME_DIR: path })).toThrow(
        /^(the runtime folder )?\S+ (is no folder; move it away|cannot be made: .*; mend that), or name another .*SVC_RUNTIME_DIR$/,
      )
  })

  test('new identities scan upward from 39811 for a free port', async () => {
    const first = await freeControlPort(new Set([CONTROL_PORT_FIRST]))
    expect(first).toBeGreaterThan(CONTROL_PORT_FIRST)
    const server = createServer()
    await new Promise<void>(done => server.listen(first, '127.0.0.1', done))
    expect(await freeControlPort(new Set([CONTROL_PORT_FIRST]))).toBeGreaterThan(first)
    server.close()
  })
})

describe('configuration', () => {
  test('defaults hold where there is no file, and what is written is read again', () => {
    const dir = fresh()
    expect(readConfig(dir)).toMatchObject({
      control_addr: '127.0.0.1:39811',
      accept_delegations: true,
      guest_messages: 5,
    })
    writeConfig(dir, { ...readConfig(dir), name: 'bob', hub_url: 'http://h' })
    expect(readConfig(dir)).toMatchObject({ name: 'bob', hub_url: 'http://h' })
    expect(statSync(join(dir, 'config.json')).mode & 0o777).toBe(0o600)
  })

  test('auto-reply defaults are 5 s, 20 turns, 180 s, 30 replies', () => {
    const { auto_reply } = checkConfig({ auto_reply: { backend: 'exec' } })
    expect(autoReplySettings(auto_reply ?? { backend: 'exec' })).toMatchObject({
      poll_interval_seconds: 5,
      max_history: 20,
      api_timeout_seconds: 180,
      max_auto_replies: 30,
    })
  })

  test('an unknown member and a lone voucher address are refused by name', () => {
    expect(() => parseConfig('{"nmae":"x"}')).toThrow(/nmae/)
    expect(() => parseConfig('{"voucher_addr":"127.0.0.1:1"}')).toThrow(/given together/)
    expect(() => parseConfig('{')).toThrow(/not JSON/)
  })
})

test('a control token stays until its file is deleted, then the next start makes another', () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-token-'))
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
  const first = ensureToken(dir, random)
  expect(ensureToken(dir, random)).toBe(first)
  rmSync(join(dir, 'control_token.txt'))
  expect(ensureToken(dir, random)).not.toBe(first)
  expect([isBearer(`Bearer ${first}`, first), isBearer(first, first), isBearer(undefined, first)]).toEqual([
    true,
    false,
    false,
  ])
})
