// project: programs

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { World } from '../cli/demo/world.ts'

type Finding = { check: string; state: 'ok' | 'note' | 'wrong'; found: string; mend?: string }
type Report = { ok: boolean; wrong: number; findings: Finding[] }

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
let world: World
let url: string

async function examine(more: Record<string, string> = {}): Promise<{ code: number | null; report: Report }> {
  const { code, stdout } = await world.run(programs.svc, ['doctor'], world.env('alice', more))
  return { code, report: JSON.parse(stdout) as Report }
}
const stateOf = ({ findings }: Report) =>
  Object.fromEntries(findings.map(({ check, state }) => [check, state]))
const recordsOfAlice = async () =>
  ((await world.svc('alice', 'status')) as { chain: { length: number } }).chain.length
const saysOf = ({ findings }: Report, check: string) => findings.find(finding => finding.check === check)

beforeAll(async () => {
  world = new World(programs)
  url = (await world.startHub()).url
})
afterAll(() => world[Symbol.asyncDispose]())

describe('svc doctor', () => {
  test('before the first start says that there is nothing, and what makes it', async () => {
    const { code, report } = await examine()
    expect([code, report.ok]).toEqual([0, true])
    expect(saysOf(report, 'identity')).toMatchObject({ state: 'note', mend: 'svc up' })
  })

  test('finds nothing wrong with a node that is registered at its hub', async () => {
    const { aid } = await world.startNode('alice')
    await world.hub('admit', String(aid))
    await world.svc('alice', 'hub-register', url, '--name', 'alice')
    const { code, report } = await examine()
    expect([code, report.wrong]).toEqual([0, 0])
    expect(stateOf(report)).toEqual({
      'data directory': 'ok',
      identity: 'ok',
      configuration: 'ok',
      disk: 'ok',
      process: 'ok',
      program: 'ok',
      hub: 'ok',
      evidence: 'ok',
      clock: 'ok',
    })
    expect(saysOf(report, 'identity')?.found).toBe(aid)
  })

  test('names files that others can read, and the command that closes them', async () => {
    const key = world.dir('alice', 'identity.kel')
    chmodSync(key, 0o644)
    const { code, report } = await examine()
    expect([code, report.ok]).toEqual([1, false])
    expect(saysOf(report, 'data directory')).toMatchObject({
      state: 'wrong',
      found: `other users can read ${key}`,
      mend: `chmod -R go-rwx ${world.dir('alice')}`,
    })
    chmodSync(key, 0o600)
  })

  test('a directory in which others can write does not start, and doctor says what mends it', async () => {
    const dir = world.dir('open')
    mkdirSync(dir, { mode: 0o770 })
    chmodSync(dir, 0o770)
    const up = await world.run(programs.svc, ['up'], world.env('alice', { SVC_HOME: dir }))
    const found = `other users of this machine can write ${dir}, and so decide what this node does`
    expect(up.code).toBe(1)
    expect(up.stderr).toContain(`${found}; look through config.json, then: chmod -R go-rwx ${dir}`)
    expect(readdirSync(dir)).toEqual([])
    const { report } = await examine({ SVC_HOME: dir })
    expect(saysOf(report, 'data directory')).toMatchObject({ state: 'wrong', found })
  })

  describe('of a stopped node', () => {
    let bob: string
    beforeAll(async () => {
      bob = String((await world.startNode('bob'))['aid'])
      await world.svc('bob', 'stop')
      await world.svc('alice', 'delegate', bob, 'a record for the chain')
      // a damaged last line may be a torn write, so the damage below needs a record behind it
      await world.svc('alice', 'delegate', bob, 'and another')
      await vi.waitUntil(async () => (await recordsOfAlice()) > 1, { timeout: 60_000 })
      await world.svc('alice', 'stop')
    })
    const path = (name: string) => world.dir('alice', name)
    const broken = async (name: string, damage: (path: string) => void) => {
      cpSync(path(name), path('kept'), { recursive: true })
      damage(path(name))
      const { code, report } = await examine()
      const started = await world.run(programs.svc, ['up'], world.env('alice'))
      for (const made of [path(name), `${path(name)}-wal`, `${path(name)}-shm`])
        rmSync(made, { recursive: true, force: true })
      renameSync(path('kept'), path(name))
      expect([code, started.code]).toEqual([1, 1])
      // nothing of the runs before, and one next step
      expect(started.stderr).toMatch(
        /^svc: the node ended at once; its log says:\nsvc: [^\n]*\ntry: svc doctor\n$/,
      )
      return { report, log: started.stderr }
    }

    test('reads its files and finds them whole', async () => {
      const { code, report } = await examine()
      expect(code).toBe(0)
      expect(stateOf(report)).toMatchObject({ 'mailbox keys': 'ok', records: 'ok', process: 'note' })
    })

    test('finds the rest of an identity whose own file is gone', async () => {
      const { report } = await broken('identity.kel', rmSync)
      expect(saysOf(report, 'identity')).toMatchObject({
        state: 'wrong',
        found: `${world.dir('alice')} holds identity.next, mailbox.keys, evidence.ael.jsonl, interactions but no identity.kel; restore identity.kel from its backup`,
        mend: expect.stringContaining(`put a backup of ${path('identity.kel')} back`),
      })
    })

    test('finds mailbox keys that nobody can read, as the start does', async () => {
      const { report, log } = await broken('mailbox.keys', file => writeFileSync(file, ''))
      const found = `${path('mailbox.keys')} is damaged (item is truncated); restore it from its backup, or remove it for new keys, with which mail on its way cannot be opened`
      expect(saysOf(report, 'mailbox keys')).toMatchObject({ state: 'wrong', found })
      expect(log).toContain(`svc: ${found}`)
    })

    test('finds a store that is no database, as the start does', async () => {
      const { report, log } = await broken('interactions/store.db', file =>
        writeFileSync(file, 'garbage'.repeat(99)),
      )
      const found = `${path('interactions/store.db')} is damaged (file is not a database); restore ${path('interactions')} from its backup`
      expect(saysOf(report, 'records')).toMatchObject({
        state: 'wrong',
        found: expect.stringContaining(found),
      })
      expect(log).toContain(`svc: ${found}`)
    })

    test('finds an altered record of the evidence chain, and changes nothing', async () => {
      const file = path('evidence.ael.jsonl')
      const bytes = readFileSync(file)
      bytes[40] = (bytes[40] as number) ^ 1
      const { report } = await broken('evidence.ael.jsonl', () => writeFileSync(file, bytes))
      expect(saysOf(report, 'records')).toMatchObject({
        state: 'wrong',
        found: expect.stringContaining(`${file}: record 0: `),
        mend: `mv ${file} ${file}.altered && svc up`,
      })
    })

    test('names a pipe in the place of the chain, and says what is to be done', async () => {
      const file = path('evidence.ael.jsonl')
      renameSync(file, `${file}.kept`)
      execFileSync('mkfifo', ['-m', '600', file])
      const { report } = await examine()
      const up = await world.run(programs.svc, ['up'], world.env('alice'))
      renameSync(`${file}.kept`, file)
      expect([up.code, up.stderr]).toEqual([
        1,
        expect.stringContaining(`${file} is a pipe or a device, no file`),
      ])
      const found = expect.stringContaining(file)
      expect(saysOf(report, 'data directory')).toMatchObject({ state: 'wrong', found })
      expect(saysOf(report, 'records')).toMatchObject({ state: 'wrong', found, mend: `rm ${file} && svc up` })
    })

    test('finds a store that is gone, and the import that brings the evidence back', async () => {
      const { report } = await broken('interactions', folder => rmSync(folder, { recursive: true }))
      expect(saysOf(report, 'records')).toMatchObject({
        state: 'wrong',
        mend: 'svc evidence import && svc up',
      })
    })

    test('finds an older copy that was put back, and names every step out', async () => {
      const home = world.dir('alice')
      cpSync(home, `${home}-kept`, { recursive: true })
      await world.startNode('alice')
      const before = await recordsOfAlice()
      await world.svc('alice', 'delegate', bob, 'count')
      await vi.waitUntil(async () => (await recordsOfAlice()) > before, { timeout: 60_000 })
      await world.svc('alice', 'stop')
      rmSync(home, { recursive: true })
      renameSync(`${home}-kept`, home)
      await world.startNode('alice')
      const { code, report } = await examine()
      await world.svc('alice', 'stop')
      expect(code).toBe(1)
      expect(saysOf(report, 'hub')).toMatchObject({
        state: 'wrong',
        found: expect.stringMatching(/it is an old copy/),
        mend: `after svc stop put the newest copy in place of ${home} and run svc up – only if that copy is lost: svc evidence accept && svc up`,
      })
      expect(report.findings.filter(({ found }) => /old copy/.test(found))).toHaveLength(1)
    })

    test('finds a configuration and a key that nobody can read', async () => {
      writeFileSync(path('config.json'), '{"control_addr": 7}')
      writeFileSync(path('identity.kel'), 'gone')
      const { code, report } = await examine()
      expect(code).toBe(1)
      expect(stateOf(report)).toMatchObject({ configuration: 'wrong', identity: 'wrong', process: 'note' })
      expect(saysOf(report, 'configuration')?.found).toMatch(/control_addr/)
      expect(saysOf(report, 'identity')?.mend).toMatch(/put a backup of .* back/)
    })
  })
})
