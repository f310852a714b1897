// project: programs

/** The built program among other programs: output that does not arrive, and signals. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../testing/bundle.ts'
import { runHub, startHubChild } from '../testing/process.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-streams-'))
const directory = join(folder, 'data')
let program: string
beforeAll(async () => {
  program = await bundledProgram()
  expect((await runHub(['init', '--data-dir', directory])).code).toBe(0)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.runIf(existsSync('/dev/full'))('output that does not arrive', () => {
  test.each(['agents ls', 'stats', 'version', 'help', 'help serve', 'doctor', 'doctor --json'])(
    'is a failure of %s, in words',
    command => {
      const place = /^(version|help)/.test(command) ? '' : `--data-dir "${directory}"`
      const script = `"${process.execPath}" "${program}" ${command} ${place} > /dev/full`
      const ran = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
      const sentence = 'svc-hub: standard output could not be written: the disk is full\n'
      expect([ran.status, ran.stderr]).toEqual([1, sentence])
    },
  )
})

/** What the log says last: why the hub stopped, and with which code. */
function lastLines(said: string): Record<string, unknown>[] {
  const lines = said.trim().split('\n')
  return lines.slice(-2).map(line => JSON.parse(line) as Record<string, unknown>)
}

test.each([
  ['SIGHUP', 0],
  ['SIGQUIT', 0],
  ['SIGUSR2', 1],
  ['SIGALRM', 1],
  ['SIGVTALRM', 1],
  ['SIGXCPU', 1],
  ['SIGIO', 1],
] as const)('%s ends a hub in order, with exit code %i, and the log names it', async (signal, code) => {
  const hub = await startHubChild(directory)
  hub.kill(signal)
  expect(await hub.exited).toEqual({ code, signal: null })
  expect(lastLines(hub.said())).toMatchObject([
    { event: 'stopping', why: signal },
    { event: 'stopped', code },
  ])
})

describe.runIf(process.platform === 'linux')('a hub that is still starting', () => {
  const waiting = join(folder, 'config-that-comes-late')
  beforeAll(() => expect(spawnSync('mkfifo', [waiting]).status).toBe(0))

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends in order at %s', async signal => {
    const args = ['serve', '--config', waiting, '--listen', '127.0.0.1:0', '--data-dir', directory]
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.on('data', chunk => {
      said += String(chunk)
    })
    const closed = once(child, 'close')
    // Opened for writing once the hub waits for what comes.
    const config = await open(waiting, 'w')
    child.kill(signal)
    await config.writeFile('{}')
    await config.close()
    expect([await closed, said]).toEqual([[0, null], expect.stringContaining(`"why":"${signal}"`)])
  })
})

test('the program loads nothing before it has taken its signals', async () => {
  const before = importedBy(program)
  expect(before.length).toBeGreaterThan(0)
  const modules = before.filter(name => !name.startsWith('.'))
  expect([...new Set(modules)]).toEqual(['node:module'])
  expect(before.length - modules.length).toBeLessThanOrEqual(SIGNALS_AND_HELPERS)
})

/** Parts of the bundle beside the entry: the signals, and what the bundler itself puts into each. */
const SIGNALS_AND_HELPERS = 2

/** What a file of a bundle imports before its own first line runs, through others as well. */
function importedBy(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  const names = [...text.matchAll(/^(?:import|\} from)[^('"]*['"]([^'"]+)['"];?/gm)].map(
    ([, name]) => name as string,
  )
  return names.flatMap(name =>
    name.startsWith('.') ? [name, ...importedBy(join(path, '..', name))] : [name],
  )
}

test.runIf(existsSync('/dev/full'))('a hub serves also where nobody takes its greeting', async () => {
  const full = await open('/dev/full', 'w')
  const args = ['serve', '--listen', '127.0.0.1:0', '--data-dir', directory]
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', full.fd, 'pipe'] })
  const exited = once(child, 'exit')
  await new Promise(resolve => child.stderr?.once('data', resolve))
  expect((await runHub(['stats', '--data-dir', directory])).code).toBe(0)
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  await full.close()
})

test('a hub that was killed is a problem to the doctor; one that was stopped is none', async () => {
  const asked = async () => await runHub(['doctor', '--data-dir', directory])
  for (const [signal, code, found] of [
    ['SIGKILL', 1, /WRONG process: no hub is running .*, and the last one did not stop in order.*\n.*serve/],
    ['SIGTERM', 0, /note {2}process: no hub is running on this directory\n.*serve/],
  ] as const) {
    const hub = await startHubChild(directory)
    hub.kill(signal)
    await hub.exited
    const said = await asked()
    expect([signal, said.code, said.stdout]).toEqual([signal, code, expect.stringMatching(found)])
  }
})

test.runIf(existsSync('/proc/net/tcp'))('no signal opens a port for a debugger', async () => {
  const hub = await startHubChild(directory)
  const before = listening(hub.pid)
  hub.kill('SIGUSR1')
  // The signal was taken once a later answer has come.
  expect((await runHub(['stats', '--data-dir', directory])).code).toBe(0)
  expect(hub.said()).not.toMatch(/debugger/i)
  expect(listening(hub.pid)).toEqual(before)
  expect(before.length).toBe(1)
  hub.kill('SIGTERM')
  expect(await hub.exited).toEqual({ code: 0, signal: null })
})

const LISTENS = '0A'
const [STATE, INODE] = [3, 9]

/** The sockets on which a process listens for connections over the network. */
function listening(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  const open = new Set(readdirSync(folder).map(name => linkOf(join(folder, name))))
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap(path => readFileSync(path, 'utf8').split('\n').slice(1))
    .map(line => line.trim().split(/\s+/))
    .filter(columns => columns[STATE] === LISTENS && open.has(`socket:[${columns[INODE]}]`))
    .map(columns => columns[1] as string)
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    // Closed meanwhile.
    return ''
  }
}
