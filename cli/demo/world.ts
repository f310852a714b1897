/**
 * The world of the demo: a temporary home, a hub and two nodes, all of them the built programs. Everything it starts
 * it ends, and everything it writes it removes.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandFailed } from '../io.ts'

const START_WAIT_MS = 10_000
const COMMAND_TIMEOUT_MS = 30_000
const STOP_WAIT_MS = 3_000

export type Ran = { code: number; stdout: string; stderr: string }

export type StartedHub = { url: string; aid: string; child: ChildProcess; printed: string }

export type Programs = { svc: string; hub: string }

/** The built programs: this one, and the hub beside it, in the checkout or as a package that was installed with it. */
export function builtPrograms(): Programs {
  const svc = realpathSync(process.argv[1] as string)
  const hub = [join(dirname(svc), '..', 'hub'), installedHub(svc)]
    .map(folder => join(folder, 'dist', 'svc-hub.js'))
    .find(program => existsSync(program))
  if (hub === undefined)
    throw new CommandFailed(
      'the demo needs the package svc-hub beside svc',
      'install svc-hub where svc is installed; in a checkout: npm ci, then npm run demo',
    )
  return { svc, hub }
}

function installedHub(svc: string): string {
  try {
    return dirname(createRequire(svc).resolve('svc-hub/package.json'))
  } catch {
    return ''
  }
}

export class World implements AsyncDisposable {
  readonly root: string
  readonly programs: Programs
  /** The runtime of all programs. */
  readonly node: string
  #children: ChildProcess[] = []
  #started: string[] = []
  #atEnd: (() => void | Promise<void>)[] = []

  constructor(programs: Programs, prefix = 'svc-world-', node = process.execPath) {
    this.programs = programs
    this.node = node
    this.root = mkdtempSync(join(tmpdir(), prefix))
    chmodSync(this.root, 0o700)
    for (const name of ['hub', 'alice', 'bob', 'run', 'home'])
      mkdirSync(join(this.root, name), { mode: 0o700 })
  }

  dir(...parts: string[]): string {
    return join(this.root, ...parts)
  }

  /** Environment in which `svc` means this node and nothing of the user's own. */
  env(name: 'alice' | 'bob', more: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      HOME: this.dir('home'),
      SVC_HOME: this.dir(name),
      SVC_RUNTIME_DIR: this.dir('run'),
      SVC_HINTS: '0',
      ...more,
    }
  }

  run(
    program: string,
    args: string[],
    env: Record<string, string>,
    cwd = this.root,
    timeout = COMMAND_TIMEOUT_MS,
  ): Promise<Ran> {
    return new Promise(resolve => {
      const options = { env, cwd, timeout, maxBuffer: 64 * 1024 * 1024 }
      execFile(this.node, [program, ...args], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
        const late = error?.killed === true ? `it gave no answer within ${timeout / 1000} s` : ''
        resolve({ code, stdout, stderr: stderr + late })
      })
    })
  }

  /** One `svc` command of a node; its reply, or its error as an exception. */
  async svc(name: 'alice' | 'bob', ...args: string[]): Promise<Record<string, unknown>> {
    const ran = await this.run(this.programs.svc, args, this.env(name))
    if (ran.code !== 0)
      throw new Error(`svc ${args[0]} of ${name}: ${ran.stderr.trim() || ran.stdout.trim()}`)
    return JSON.parse(ran.stdout) as Record<string, unknown>
  }

  hub(...args: string[]): Promise<Record<string, unknown>> {
    return this.hubAt('hub', ...args)
  }

  /** One `svc-hub` command of the hub whose data directory has this name. */
  async hubAt(folder: string, ...args: string[]): Promise<Record<string, unknown>> {
    const ran = await this.run(
      this.programs.hub,
      [...args, '--data-dir', this.dir(folder)],
      this.env('alice'),
    )
    if (ran.code !== 0) throw new Error(`svc-hub ${args[0]}: ${ran.stderr.trim()}`)
    return JSON.parse(ran.stdout) as Record<string, unknown>
  }

  /** Starts the hub, on a free port unless one is given; resolves to what it prints, with the address and AID in it. */
  async startHub(
    more: Record<string, string> = {},
    listen = '127.0.0.1:0',
    flags: readonly string[] = [],
    folder = 'hub',
  ): Promise<StartedHub> {
    const args = [this.programs.hub, 'serve', '--listen', listen, '--data-dir', this.dir(folder), ...flags]
    const env = this.env('alice', more)
    const child = spawn(this.node, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    this.#children.push(child)
    const printed = await firstMatch(child, /at (http:\S+)[\s\S]*hub AID (\S+)/)
    return { url: printed[1] as string, aid: printed[2] as string, child, printed: printed.input }
  }

  /** `svc up` for a node. */
  async startNode(
    name: 'alice' | 'bob',
    more: Record<string, string> = {},
  ): Promise<Record<string, unknown>> {
    const ran = await this.run(this.programs.svc, ['up'], this.env(name, more))
    if (ran.code !== 0) throw new Error(`svc up of ${name}: ${ran.stderr.trim()}`)
    this.#started.push(name)
    return JSON.parse(ran.stdout) as Record<string, unknown>
  }

  /** What is done when everything ends. */
  atEnd(work: () => void | Promise<void>): void {
    this.#atEnd.push(work)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of new Set(this.#started)) {
      await this.run(this.programs.svc, ['stop'], this.env(name as 'alice'))
    }
    await Promise.all(this.#children.map(endChild))
    for (const work of this.#atEnd.toReversed()) await work()
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}

function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WAIT_MS)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}

function firstMatch(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => reject(new Error(`the hub did not start: ${text}`)), START_WAIT_MS)
    child.stdout?.on('data', chunk => {
      text += String(chunk)
      const match = pattern.exec(text)
      if (match === null) return
      clearTimeout(timer)
      resolve(match)
    })
    child.once('exit', () => reject(new Error(`the hub ended: ${text}`)))
  })
}
