// project: programs

/** A node whose disk is full: it lives, says so, loses nothing, and goes on once there is room. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'
import { fillUp, hasSmallDisks } from '../protocol/testing/small-disk.ts'

const DISK_BYTES = 24 * 1024 * 1024
const WITHIN_MS = 60_000
const at = (path: string): string => new URL(`../${path}`, import.meta.url).pathname

describe.skipIf(!hasSmallDisks)('on a disk without room (skipped where none can be mounted)', () => {
  let world: World
  let aids: Record<'alice' | 'bob', string>

  beforeAll(async () => {
    world = new World({ svc: at('dist/svc.js'), hub: at('hub/dist/svc-hub.js') })
    const options = `size=${DISK_BYTES},mode=0700`
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', world.dir('alice')])
    const { url } = await world.startHub()
    const [alice, bob] = [await world.startNode('alice'), await world.startNode('bob')]
    aids = { alice: String(alice['aid']), bob: String(bob['aid']) }
    for (const name of ['alice', 'bob'] as const) {
      await world.hub('admit', aids[name])
      await world.svc(name, 'hub-register', url)
    }
    await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
    await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
  })
  afterAll(async () => {
    rmSync(ballast(), { force: true })
    await world.svc('alice', 'stop').catch(() => undefined)
    spawnSync('umount', ['-l', world.dir('alice')])
    await world[Symbol.asyncDispose]()
  })

  const ballast = (): string => world.dir('alice', 'ballast')
  const alice = (...args: string[]) => world.run(world.programs.svc, args, world.env('alice'))
  const inboxOf = async (name: 'alice' | 'bob'): Promise<string> =>
    JSON.stringify(await world.svc(name, 'inbox'))

  test('a command says that the disk is full, and the node lives on', async () => {
    const { pid } = await world.svc('alice', 'status')
    fillUp(ballast())
    const refused = await alice('delegate', 'bob', 'x'.repeat(100_000))
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^svc: disk_full: the disk is full: nothing was changed\nnext: free some room/),
    ])
    await world.svc('bob', 'delegate', 'alice', 'while there is no room')
    for (let i = 0; i < 5; i++) expect((await alice('delegate', 'bob', 'y'.repeat(100_000))).code).toBe(1)
    const status = await world.svc('alice', 'status')
    expect(status).toMatchObject({ pid, aid: aids.alice })
    expect(JSON.stringify(status['warnings'])).toContain(
      'the disk has 0.0 MiB left and the node needs 16 MiB',
    )
    expect(await inboxOf('alice')).not.toContain('while there is no room')
  })

  test('with room again everything goes on, and what came meanwhile arrives', {
    timeout: 300_000,
  }, async () => {
    rmSync(ballast())
    const { interaction_id } = await world.svc('alice', 'delegate', 'bob', 'after')
    await expect.poll(() => inboxOf('bob'), { timeout: WITHIN_MS }).toContain(String(interaction_id))
    await expect.poll(() => inboxOf('alice'), { timeout: WITHIN_MS }).toContain('while there is no room')
    const { warnings } = (await world.svc('alice', 'status')) as { warnings: string[] }
    expect(warnings.join()).not.toContain('MiB left')
  })

  test('a start says why it cannot be, and removes what killed writes left behind', {
    timeout: 300_000,
  }, async () => {
    await world.svc('alice', 'stop')
    const torn = world.dir('alice', 'config.json.tmp-4711')
    writeFileSync(torn, 'x'.repeat(10_000))
    fillUp(ballast())
    const refused = await alice('up')
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `svc: the node cannot start: the disk of ${world.dir('alice')} is full\nnext: free some room, then svc up\n`,
    ])
    rmSync(ballast())
    expect(await world.svc('alice', 'up')).toMatchObject({ state: 'running', aid: aids.alice })
    expect(existsSync(torn)).toBe(false)
    expect(await inboxOf('alice')).toContain('while there is no room')
  })
})
