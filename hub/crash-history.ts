/**
 * For crash tests: two agents that send, poll and confirm over a hub that dies, and the history of what they were told.
 * What was acknowledged must be there, exactly once, after every restart; what was confirmed must never come back.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toHex } from '../protocol/bytes.ts'
import { sha256 } from '../protocol/crypto.node.ts'
import { orderRunningHub } from './operator-socket.ts'
import { TestAgent } from './testing.ts'
import { sealedUnderCapability, sendEnvelope, type TestEnvelope } from './testing-mail.ts'
import { type HubChild, startHubChild } from './testing-process.ts'

const CONTENT_BYTES = [64, 2048, 70_000]
const POLL_LIMIT = 50

type Told = { envelope: TestEnvelope; state: 'sent' | 'acknowledged' | 'confirmed' | 'confirming' }

export class CrashHistory {
  readonly directory: string
  #hub: HubChild | undefined
  #agent: TestAgent | undefined
  readonly #told = new Map<string, Told>()
  /** Operations that were answered before a crash. */
  answered = 0

  constructor(directory: string) {
    this.directory = directory
  }

  /** Starts the hub, with one named point armed, and points the agent at it. */
  async start(fault?: string): Promise<HubChild> {
    const hub = await startHubChild(this.directory, fault === undefined ? {} : { fault })
    this.#hub = hub
    if (this.#agent === undefined) this.#agent = new TestAgent(hub)
    else this.#agent.target = hub
    return hub
  }

  get agent(): TestAgent {
    if (this.#agent === undefined) throw new Error('the hub was never started')
    return this.#agent
  }

  /** Sends, polls and confirms until the hub is gone or `operations` are done. */
  async work(operations: number): Promise<void> {
    const hub = this.#running()
    try {
      for (let i = 0; i < operations; i++) {
        if (i % 4 === 3) await this.#collect()
        else await this.#send(hub, CONTENT_BYTES[i % CONTENT_BYTES.length] as number)
        this.answered += 1
      }
    } catch (error) {
      if (!isGone(error)) throw error
    }
  }

  async #send(hub: HubChild, contentBytes: number): Promise<void> {
    const envelope = sealedUnderCapability(this.agent, this.agent.capability(), { contentBytes })
    const told: Told = { envelope, state: 'sent' }
    this.#told.set(nameOf(envelope.bytes), told)
    const reply = await sendEnvelope(hub, envelope)
    if (reply.status !== 200) throw new Error(`not queued: ${JSON.stringify(reply.json)}`)
    told.state = 'acknowledged'
  }

  async #collect(): Promise<void> {
    const { messages } = await this.agent.poll({ limit: 2 })
    const collected = messages.map(({ id, envelope }) => ({ id, told: this.#find(envelope) }))
    for (const { told } of collected) told.state = 'confirming'
    await this.agent.call('relayAck', { items: collected.map(({ id }) => ({ id })) })
    for (const { told } of collected) told.state = 'confirmed'
  }

  #find(envelope: string): Told {
    const told = this.#told.get(nameOf(Buffer.from(envelope, 'base64url')))
    if (told === undefined) throw new Error('the mailbox holds an envelope that nobody sent')
    return told
  }

  /** What the mailbox holds against what was told; an empty list when all of it agrees. */
  async faults(): Promise<string[]> {
    const found = new Map<Told, number>()
    const faults: string[] = []
    let afterId = 0
    for (;;) {
      const { messages } = await this.agent.poll({ limit: POLL_LIMIT, after_id: afterId })
      if (messages.length === 0) break
      for (const { id, envelope } of messages) {
        if (id <= afterId) faults.push(`id ${id} does not rise`)
        afterId = id
        const told = this.#find(envelope)
        found.set(told, (found.get(told) ?? 0) + 1)
      }
    }
    for (const [name, told] of this.#told) {
      const times = found.get(told) ?? 0
      if (times > 1) faults.push(`${name} is there ${times} times`)
      if (told.state === 'acknowledged' && times === 0) faults.push(`${name} was acknowledged and is lost`)
      if (told.state === 'confirmed' && times > 0) faults.push(`${name} was confirmed and came back`)
      // What was on its way is settled now: it is there or it is not.
      told.state = times > 0 ? 'acknowledged' : 'confirmed'
    }
    return faults
  }

  /** Works until the hub is killed after a while, starts it again and tells what is wrong. */
  async dieAfter(delayMs: number): Promise<string[]> {
    const hub = this.#running()
    await this.work(1)
    setTimeout(() => hub.kill('SIGKILL'), delayMs)
    await this.work(Number.MAX_SAFE_INTEGER)
    await hub.exited
    return await this.#recover()
  }

  /** Works until the hub dies at a named point, starts it again and tells what is wrong. */
  async dieAt(fault: string): Promise<string[]> {
    await this.stop()
    const hub = await this.start(fault)
    await this.work(1000)
    const { signal } = await hub.exited
    return signal === 'SIGKILL' ? await this.#recover() : [`the hub did not die at ${fault}`]
  }

  async #recover(): Promise<string[]> {
    await this.start()
    const answers = await this.resend()
    const strange = answers.filter(answer => answer !== 'queued' && answer !== 'duplicate')
    return [...strange, ...(await this.faults())]
  }

  /** Ends the hub in order. */
  async stop(): Promise<void> {
    const hub = this.#running()
    hub.kill('SIGTERM')
    const { code } = await hub.exited
    if (code !== 0) throw new Error(`the hub ended with ${code}`)
  }

  #running(): HubChild {
    if (this.#hub === undefined) throw new Error('the hub was never started')
    return this.#hub
  }

  /** Envelopes that were sent without an answer, for sending once more. */
  async resend(): Promise<string[]> {
    const hub = this.#running()
    const answers: string[] = []
    for (const told of this.#told.values()) {
      if (told.state !== 'sent') continue
      const reply = await sendEnvelope(hub, told.envelope)
      answers.push(String(reply.json['status'] ?? reply.json['reason']))
      told.state = 'acknowledged'
    }
    return answers
  }
}

const nameOf = (bytes: Uint8Array): string => toHex(sha256(bytes)).slice(0, 16)

/** Whether a call failed because nobody answers any more. */
export function isGone(error: unknown): boolean {
  const code = (error as { cause?: { code?: string } }).cause?.code ?? ''
  const gone = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code)
  return gone || (error instanceof TypeError && /fetch failed|terminated/.test(error.message))
}

const folders: string[] = []

/** A history on a new hub, with its agent registered and a little mail. */
export async function newHistory(): Promise<CrashHistory> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-crash-'))
  folders.push(directory)
  const history = new CrashHistory(directory)
  await history.start()
  await orderRunningHub(directory, { command: 'admit', aid: history.agent.aid })
  const reply = await history.agent.register()
  if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
  await history.work(4)
  return history
}

export function removeHistories(): void {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
}
