/** A running node with the device link, called as its owner, and the programs of an adapter beside it. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { type Node, startNode } from '../../daemon/node.ts'

const WAIT_MS = 30_000
const LOOK_MS = 50
const adapters = new URL('../../adapters/', import.meta.url).pathname
export const never = new AbortController().signal

export type Effect = {
  status: string
  message: string
  metrics?: Record<string, number>
  artifacts?: Record<string, unknown>[]
  evidence: Record<string, unknown>
}

/** Whether a program is installed that only these tests need. */
export const isThere = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

export class AdapterWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-adapter-'))
  readonly #children: ChildProcess[] = []
  readonly #said = new Map<ChildProcess, string>()
  #node: Node | undefined

  async open(): Promise<void> {
    const dir = join(this.folder, 'node')
    writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
    writeConfig(dir, {
      ...readConfig(dir),
      modules: { svclink: { capabilities: {}, verify_trust: 2, auth_trust: 1 } },
    })
    const env = { PATH: process.env['PATH'], SVC_RUNTIME_DIR: join(this.folder, 'run') }
    this.#node = await startNode({ dir, env })
  }

  /** A file of settings, which may be written again. */
  settings(value: object): string {
    const path = join(this.folder, 'settings.json')
    writeFileSync(path, JSON.stringify(value))
    return path
  }

  adapter(name: string, settings: string): ChildProcess {
    return this.program(name, `${name}.mjs`, [settings, join(this.folder, 'node', 'devices.sock')])
  }

  /** A program of an adapter, whose own packages are installed where they are not there yet. */
  program(folder: string, program: string, args: string[]): ChildProcess {
    const cwd = join(adapters, folder)
    const isLacking = existsSync(join(cwd, 'package-lock.json')) && !existsSync(join(cwd, 'node_modules'))
    if (isLacking) execFileSync('npm', ['ci'], { cwd, stdio: 'ignore' })
    return this.start(process.execPath, [program, ...args], cwd)
  }

  start(program: string, args: string[], cwd = this.folder): ChildProcess {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text)
      this.#said.set(child, `${this.#said.get(child) ?? ''}${text}`)
    })
    this.#children.push(child)
    return child
  }

  /** Waits until a program has said this on its standard error. */
  async says(child: ChildProcess, words: RegExp): Promise<void> {
    await this.#until(
      `a program says ${words}`,
      async () => words.exec(this.#said.get(child) ?? '') ?? undefined,
    )
  }

  async call(capability: string, args: object = {}): Promise<Effect> {
    if (this.#node === undefined) throw new Error('open it first')
    return (await this.#node.handlers.capabilityTest(
      { capability: `device.${capability}`, args: args as never },
      never,
    )) as unknown as Effect
  }
  read(device: string, capability: string, more: object = {}): Promise<Effect> {
    return this.call('read', { device, capability, ...more })
  }
  write(device: string, capability: string, value: unknown): Promise<Effect> {
    return this.call('write', { device, capability, value })
  }

  /** Reads until the status is this. */
  async until(device: string, capability: string, status: string): Promise<Effect> {
    return await this.#until(`${device} ${capability}: ${status}`, async () => {
      const effect = await this.read(device, capability)
      return effect.status === status ? effect : undefined
    })
  }

  /** The description of a device, once it is as a test waits for. */
  async described(device: string, isIt: (description: Record<string, unknown>) => boolean) {
    return await this.#until(`a description of ${device}`, async () => {
      const { evidence } = await this.call('list')
      const list = JSON.parse(String(evidence['observed_state'])) as Record<string, unknown>[]
      return list.find(one => one['device'] === device && isIt(one))
    })
  }

  async #until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
      const found = await look()
      if (found !== undefined) return found
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    }
    throw new Error(`did not happen: ${what}`)
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await this.#node?.stop()
  }
}
