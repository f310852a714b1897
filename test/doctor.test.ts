import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

type Finding = { check: string; state: 'ok' | 'note' | 'wrong'; found: string; mend?: string }
type Report = { ok: boolean; wrong: number; findings: Finding[] }

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
let world: World
let url: string

async function examine(): Promise<{ code: number | null; report: Report }> {
  const { code, stdout } = await world.run(programs.svc, ['doctor'], world.env('alice'))
  return { code, report: JSON.parse(stdout) as Report }
}
const stateOf = ({ findings }: Report) =>
  Object.fromEntries(findings.map(({ check, state }) => [check, state]))
const saysOf = ({ findings }: Report, check: string) => findings.find(finding => finding.check === check)

beforeAll(async () => {
  world = new World(programs)
  url = (await world.startHub()).url
}, 30_000)
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

  test('looks at a stopped node too: a configuration and a key that nobody can read', async () => {
    await world.svc('alice', 'stop')
    writeFileSync(world.dir('alice', 'config.json'), '{"control_addr": 7}')
    writeFileSync(world.dir('alice', 'identity.kel'), 'gone')
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(stateOf(report)).toMatchObject({ configuration: 'wrong', identity: 'wrong', process: 'note' })
    expect(saysOf(report, 'configuration')?.found).toMatch(/control_addr/)
    expect(saysOf(report, 'identity')?.mend).toMatch(/put a backup of .* back/)
  })
})
