// project: programs

/** A node as a process: one that does not answer, and one that is sent a signal of the runtime. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../cli/demo/world.ts'

const root = new URL('..', import.meta.url).pathname
let world: World
beforeAll(() => {
  world = new World({ svc: join(root, 'dist', 'svc.js'), hub: '' })
})
afterAll(() => world[Symbol.asyncDispose]())

test('commands on a node that hangs say so within seconds, and what ends it', async () => {
  const pid = Number((await world.startNode('alice'))['pid'])
  const whileHung = async (commands: readonly string[]) => {
    process.kill(pid, 'SIGSTOP')
    const ran = commands.map(command => world.run(world.programs.svc, [command], world.env('alice')))
    for (const { code, stdout, stderr } of await Promise.all(ran)) {
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain(
        `runs (pid ${pid}) but does not answer\ntry: svc logs\nnext: if it stays so: kill ${pid} and then svc up\n`,
      )
    }
    process.kill(pid, 'SIGCONT')
  }
  await whileHung(['up', 'status'])
  expect(await world.startNode('alice')).toMatchObject({ state: 'running', already: true, pid })
  await whileHung(['stop'])
})

/** The process of a node that was begun under this home, once there is one. */
async function nodeOf(home: string): Promise<number> {
  for (;;) {
    for (const pid of readdirSync('/proc').filter(name => /^[0-9]+$/.test(name))) {
      const read = (file: string) => {
        try {
          return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
        } catch {
          return []
        }
      }
      if (read('cmdline').includes('daemon') && read('environ').includes(`SVC_HOME=${home}`))
        return Number(pid)
    }
    await pause(5)
  }
}

test.skipIf(process.platform !== 'linux')(
  'a node that starts slowly is waited for, which is said',
  async () => {
    const starting = world.run(world.programs.svc, ['up'], world.env('bob'))
    const pid = await nodeOf(world.dir('bob'))
    process.kill(pid, 'SIGSTOP')
    await pause(9_000)
    process.kill(pid, 'SIGCONT')
    const { code, stdout, stderr } = await starting
    await world.run(world.programs.svc, ['stop'], world.env('bob'))
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { state: 'running', pid }])
    expect(stderr).toContain('the node starts slowly; svc waits up to 60 s for it')
  },
)

test.skipIf(process.platform === 'win32')('no signal opens a port for a debugger', async () => {
  const pid = Number((await world.startNode('alice'))['pid'])
  process.kill(pid, 'SIGUSR1')
  // The signal was taken once a later answer has come.
  expect((await world.run(world.programs.svc, ['status'], world.env('alice'))).code).toBe(0)
  const logs = readdirSync(world.dir('alice'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.log'))
    .map(name => readFileSync(world.dir('alice', name), 'utf8'))
  expect(logs.length).toBeGreaterThan(0)
  expect(logs.join('')).not.toMatch(/debugger/i)
})
