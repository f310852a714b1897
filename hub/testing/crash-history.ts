/** For crash tests: many clients at work on a hub that dies again and again, and all that their histories hold. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { orderRunningHub } from '../operator/socket.ts'
import { MailboxHistory } from './crash-mailbox.ts'
import { TestAgent } from './hub.ts'
import { type HubChild, type HubChildOptions, startHubChild } from './process.ts'

const MAILBOXES = 3
const SENDERS_EACH = 2
const STATUS_EVERY = 5

/** What a run checked. */
export type Figures = { kills: number; operations: number; envelopes: number; lost: number }

export class CrashHistory {
  directory: string
  readonly #mailboxes: MailboxHistory[] = []
  #hub: HubChild | undefined
  /** How far the clients' clocks run ahead of what they do by themselves. */
  aheadMs = 0
  #kills = 0

  constructor(directory: string) {
    this.directory = directory
  }

  get figures(): Figures {
    const sum = (of: (box: MailboxHistory) => number): number =>
      this.#mailboxes.reduce((total, box) => total + of(box), 0)
    return {
      kills: this.#kills,
      operations: sum(box => box.answered),
      envelopes: sum(box => box.envelopes),
      lost: sum(box => box.lost),
    }
  }

  get agents(): TestAgent[] {
    return this.#mailboxes.map(({ agent }) => agent)
  }

  get hub(): HubChild {
    if (this.#hub === undefined) throw new Error('the hub was never started')
    return this.#hub
  }

  /** Starts the hub and points every client at it. */
  async start(options: HubChildOptions = {}): Promise<HubChild> {
    const child = await startHubChild(this.directory, options)
    const hub: HubChild = {
      ...child,
      clock: { now: () => child.clock.now() + this.aheadMs, advance: () => undefined },
    }
    this.#hub = hub
    for (const { agent } of this.#mailboxes) agent.target = hub
    return hub
  }

  /** Registers the clients. */
  async populate(): Promise<void> {
    for (let i = 0; i < MAILBOXES; i++) {
      const agent = new TestAgent(this.hub)
      await orderRunningHub(this.directory, { command: 'admit', aid: agent.aid })
      const reply = await agent.register()
      if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
      this.#mailboxes.push(new MailboxHistory(agent))
    }
  }

  /** All clients at once send, collect and ask, until the hub is gone or each has done `operations`. */
  async work(operations = Number.MAX_SAFE_INTEGER): Promise<void> {
    const hub = this.hub
    await Promise.all(
      this.#mailboxes.flatMap(box => [
        ...Array.from({ length: SENDERS_EACH }, () => untilGone(operations, () => box.send(hub))),
        untilGone(operations, i => (i % STATUS_EVERY === STATUS_EVERY - 1 ? box.status(hub) : box.collect())),
      ]),
    )
  }

  /** Sends to every mailbox while nobody collects. */
  async fill(envelopes: number): Promise<void> {
    await Promise.all(
      this.#mailboxes.map(async box => {
        for (let i = 0; i < envelopes; i++) await box.send(this.hub)
      }),
    )
  }

  /** Works until the hub is killed after a while, starts it again and tells what is wrong. */
  async dieAfter(delayMs: number): Promise<string[]> {
    const hub = this.hub
    const working = this.work()
    setTimeout(() => hub.kill('SIGKILL'), delayMs)
    await working
    await hub.exited
    return await this.recover()
  }

  /** Works until the hub dies at a named point, starts it again and tells what is wrong. */
  async dieAt(fault: string): Promise<string[]> {
    await this.stop()
    const hub = await this.start({ fault })
    await this.work()
    const { signal } = await hub.exited
    return signal === 'SIGKILL' ? await this.recover() : [`the hub did not die at ${fault}`]
  }

  /** Starts the hub again on what is left, or on `directory`, and compares it with every history. */
  async recover(directory = this.directory): Promise<string[]> {
    this.#kills += 1
    this.directory = directory
    const hub = await this.start()
    await Promise.all(this.#mailboxes.map(box => box.compare(hub)))
    const torn = readdirSync(join(this.directory, 'tmp')).map(name => `${name} is left of a torn write`)
    return [...torn, ...this.#mailboxes.flatMap(({ faults }) => faults)]
  }

  /** Ends the hub in order. */
  async stop(): Promise<void> {
    this.hub.kill('SIGTERM')
    const { code } = await this.hub.exited
    if (code !== 0) throw new Error(`the hub ended with ${code}`)
  }
}

async function untilGone(operations: number, operate: (i: number) => Promise<void>): Promise<void> {
  try {
    for (let i = 0; i < operations; i++) await operate(i)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Whether a call failed because nobody answers any more, or because the hub says that it ends. */
export function isGone(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } }).cause?.code ?? ''
  const gone = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code)
  const cut = error instanceof TypeError && /fetch failed|terminated/.test(error.message)
  return gone || cut || (error instanceof Error && /unavailable/.test(error.message))
}

const folders: string[] = []
const histories: CrashHistory[] = []

export function crashFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-crash-'))
  folders.push(directory)
  return directory
}

/** A history on a new hub, with its clients registered and a little mail. */
export async function newHistory(options: HubChildOptions = {}): Promise<CrashHistory> {
  const history = new CrashHistory(crashFolder())
  histories.push(history)
  await history.start(options)
  await history.populate()
  await history.work(2)
  return history
}

/** Ends what a failed test left running, and removes everything. */
export async function removeHistories(): Promise<void> {
  for (const { hub } of histories.splice(0)) {
    hub.kill('SIGKILL')
    await hub.exited
  }
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
}
