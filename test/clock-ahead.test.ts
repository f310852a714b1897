// project: programs

/** Nodes whose machine had a clock that ran ahead, as processes: what was dated then must not outlast it. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'
import { until } from './two-nodes/world.ts'

const root = new URL('..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const LIBRARIES = '/usr/lib'

/** The library that shifts the clock of a process, where it is installed. */
const shifter = readdirSync(LIBRARIES)
  .map(name => join(LIBRARIES, name, 'faketime', 'libfaketime.so.1'))
  .find(path => existsSync(path))
const title = shifter === undefined ? ' (skipped: faketime is not installed)' : ''
const ahead = (days: number): Record<string, string> => ({
  LD_PRELOAD: shifter ?? '',
  FAKETIME: `+${days}d`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})

let world: World
let hub: { url: string; aid: string }
beforeEach(async () => {
  world = new World(programs)
  // Restarted under another port each time, none of which anybody else can have taken meanwhile.
  writeFileSync(world.dir('alice', 'config.json'), JSON.stringify({ control_addr: '127.0.0.1:0' }))
  hub = await world.startHub()
})
afterEach(() => world[Symbol.asyncDispose]())

const hubState = async () => (await world.svc('alice', 'status'))['hub'] as { state: string; reason?: string }
const register = () => world.run(programs.svc, ['hub-register', hub.url], world.env('alice'))

describe.skipIf(shifter === undefined)(`a clock that ran ahead${title}`, () => {
  test('an identity made three days ahead, which no hub has seen, is made anew once the clock is right', async () => {
    const { aid: early } = await world.startNode('alice', ahead(3))
    await world.hub('admit', String(early))
    const wrong = await register()
    expect(wrong.stderr).toMatch(/the clock of the hub is 72 hours behind/)
    await world.svc('alice', 'stop')
    await world.startNode('alice')
    const refused = await register()
    const aid = String((await world.svc('alice', 'status'))['aid'])
    expect(aid).not.toBe(early)
    expect(refused.stderr).toContain(`svc-hub admit ${aid}`)
    expect(refused.stderr).toContain(`made anew`)
    for (const command of ['up', 'stop']) {
      const { code, stdout } = await world.run(programs.svc, [command], world.env('alice'))
      expect([command, code, stdout.includes(aid), stdout.includes(String(early))]).toEqual([
        command,
        0,
        true,
        false,
      ])
    }
    await world.startNode('alice')
    await world.hub('admit', aid)
    expect((await register()).code).toBe(0)
    expect((await hubState()).state).toBe('online')
    expect((await world.svc('alice', 'status'))['warnings']).toContainEqual(
      expect.stringContaining(`this identity was made anew`),
    )
  })

  test('a key rotated a day ahead is taken by the hub at once when the clock is right again', async () => {
    const { aid } = await world.startNode('alice')
    await world.hub('admit', String(aid))
    expect((await register()).code).toBe(0)
    await world.svc('alice', 'stop')
    await world.startNode('alice', ahead(1))
    await world.svc('alice', 'id', 'rotate')
    await world.svc('alice', 'stop')
    await world.startNode('alice')
    await until('it is online', async () => (await hubState()).state === 'online')
    expect((await world.svc('alice', 'status'))['kel_seq']).toBe(2)
  })

  test('a node that was started once twenty days ahead comes back', async () => {
    const { aid } = await world.startNode('alice')
    await world.hub('admit', String(aid))
    expect((await register()).code).toBe(0)
    await world.svc('alice', 'stop')
    await world.startNode('alice', ahead(20))
    await until('it says what is wrong', async () => /480 hours behind/.test((await hubState()).reason ?? ''))
    const doctor = await world.run(programs.svc, ['doctor'], world.env('alice', ahead(20)))
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toContain('answers, but takes nothing while the clocks are apart')
    expect(doctor.stdout).toContain(`the clock of this machine is 480 hours ahead of ${hub.url}`)
    await world.svc('alice', 'stop')
    await world.startNode('alice')
    await until('it is online', async () => (await hubState()).state === 'online')
    expect((await world.svc('alice', 'profile', 'set', '--summary', 'back'))['status']).toBe(
      'profile_updated',
    )
  })
})
