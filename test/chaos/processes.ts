/** Processes of a world, each started again when it ends, killed, paused, and asked by way of its control interface. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export type Reply = Record<string, unknown>
export type Program = { words: string[]; env: Record<string, string> }

const LOOK_MS = 100
const ASK_MS = 120_000
const COMMAND_MS = 60_000
const END_MS = 15_000

/** What a node refuses for the moment, and a person tries again. */
const passing = new Set(['old_copy', 'hub_unreachable', 'hub_refused', 'internal', 'no_hub', 'no_credits'])

export class Asked extends Error {
  readonly reply: Reply
  constructor(what: string, reply: Reply) {
    super(`${what}: ${JSON.stringify(reply)}`)
    this.reply = reply
  }
}

export abstract class Processes {
  readonly #children = new Map<string, ChildProcess>()
  readonly #paused = new Set<string>()
  readonly ports = new Map<string, number>()
  #stopping = false
  /** Starts of each process that nobody ordered: it ended by itself. */
  readonly ended: string[] = []
  abstract readonly folder: string

  /** How somebody is started. */
  protected abstract programOf(who: string): Program

  dir(who: string): string {
    return join(this.folder, who)
  }

  killWithProcess(): void {
    process.once('exit', () => {
      for (const child of this.#children.values()) child.kill('SIGKILL')
    })
  }

  start(who: string): void {
    const { words, env } = this.programOf(who)
    const log = openSync(join(this.folder, `${who}.log`), 'a')
    const child = spawn(process.execPath, words, { stdio: ['ignore', log, log], env })
    closeSync(log)
    this.#children.set(who, child)
    child.once('exit', (code, signal) => {
      if (this.#stopping || this.#children.get(who) !== child) return
      if (signal !== 'SIGKILL') this.ended.push(`${who} ended by itself (${code ?? signal})`)
      this.start(who)
    })
  }

  kill(who: string): void {
    this.#children.get(who)?.kill('SIGKILL')
  }

  pause(who: string): void {
    this.#children.get(who)?.kill('SIGSTOP')
    this.#paused.add(who)
  }

  resume(who: string): void {
    this.#children.get(who)?.kill('SIGCONT')
    this.#paused.delete(who)
  }

  /** Ends a process in good order, and leaves it so. */
  async end(who: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#children.get(who)
    this.#children.delete(who)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>(done => child.once('exit', () => done()))
    child.kill(signal)
    await Promise.race([ended, pause(END_MS).then(() => child.kill('SIGKILL'))])
    await ended
  }

  async untilUp(hub: string): Promise<void> {
    for (;;) {
      const isUp = await fetch(`http://127.0.0.1:${this.ports.get(hub)}/`).then(
        () => true,
        () => false,
      )
      if (isUp) return
      await pause(LOOK_MS)
    }
  }

  /** Runs a command to its end; what it printed. */
  protected async command(words: string[], env: Record<string, string>): Promise<string> {
    const child = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      timeout: COMMAND_MS,
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => {
        said += bytes.toString()
      })
    const code = await new Promise<number | null>(done => child.once('close', done))
    if (code !== 0) throw new Error(`${words.slice(1).join(' ')}: exit ${code}: ${said}`)
    return said
  }

  /** One call of a node's control interface; undefined while its process is away. */
  async #askOnce(
    who: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<[boolean, Reply] | undefined> {
    try {
      const token = readFileSync(join(this.dir(who), 'control_token.txt'), 'utf8').trim()
      const response = await fetch(`http://127.0.0.1:${this.ports.get(who)}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(COMMAND_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return [response.ok, (await response.json()) as Reply]
    } catch {
      return undefined
    }
  }

  /** One call, repeated while the process is away or refuses for the moment; any other refusal is thrown. */
  async ask(who: string, method: string, path: string, body?: unknown, patienceMs = ASK_MS): Promise<Reply> {
    const end = Date.now() + patienceMs
    for (;;) {
      const answer = await this.#askOnce(who, method, path, body)
      if (answer?.[0]) return answer[1]
      const refused = answer?.[1] ?? { reason: 'away' }
      const isPassing = answer === undefined || passing.has(refused['reason'] as string)
      if (!isPassing || Date.now() > end) throw new Asked(`${who} ${method} ${path}`, refused)
      await pause(LOOK_MS)
    }
  }

  protected async endAll(): Promise<void> {
    this.#stopping = true
    for (const who of this.#paused) this.resume(who)
    await Promise.all([...this.#children.keys()].map(who => this.end(who)))
  }
}
