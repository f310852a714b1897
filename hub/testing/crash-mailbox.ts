/**
 * For crash tests: one mailbox with its senders and its owner, and the history of everything that they were told. What
 * was acknowledged must be there once, under one id; what was confirmed must never come back; ids rise; a state never
 * goes back; a signed request works once.
 */

import { STATUS_ITEMS_MAX } from '../../protocol/contract/limits.ts'
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import { toBase64url, toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import { callRoute, type Polled, random, request, type TestAgent } from './hub.ts'
import { sealedUnderCapability, sendEnvelope, type TestEnvelope } from './mail.ts'
import type { HubChild } from './process.ts'

const CONTENT_BYTES = [64, 2048, 70_000]
const COLLECTED_AT_ONCE = 8
const WAITING_MAX = 60
const POLL_LIMIT = 100

type Told = {
  envelope: TestEnvelope
  state: 'sent' | 'acknowledged' | 'confirming' | 'confirmed'
  rid?: string
  id?: number
  handle: string
  dack: string
  done: boolean
}

const nameOf = (bytes: Uint8Array): string => toHex(sha256(bytes)).slice(0, 16)

export class MailboxHistory {
  readonly agent: TestAgent
  readonly #told = new Map<string, Told>()
  /** Names of those that were confirmed long ago. */
  readonly #settled = new Set<string>()
  /** Which envelope an id was given to, for ever. */
  readonly #ids = new Map<number, string>()
  #idMax = 0
  #sends = 0
  /** The last signed request that was accepted, as it went out. */
  #accepted: { headers: Record<string, string>; body: Uint8Array } | undefined
  /** What contradicts what was told before. */
  readonly faults: string[] = []
  /** Operations that were answered. */
  answered = 0
  lost = 0

  constructor(agent: TestAgent) {
    this.agent = agent
  }

  get envelopes(): number {
    return this.#told.size + this.#settled.size
  }

  get #waiting(): number {
    let count = 0
    for (const { state } of this.#told.values()) if (state === 'acknowledged') count += 1
    return count
  }

  /** Sends one envelope; pauses while much is waiting. */
  async send(hub: HubChild): Promise<void> {
    if (this.#waiting >= WAITING_MAX) return void (await this.status(hub))
    const contentBytes = CONTENT_BYTES[this.#sends++ % CONTENT_BYTES.length] as number
    const envelope = sealedUnderCapability(this.agent, this.agent.capability(), { contentBytes })
    const told: Told = {
      envelope,
      state: 'sent',
      handle: toBase64url(random(16)),
      dack: toBase64url(random(540)),
      done: false,
    }
    this.#told.set(nameOf(envelope.bytes), told)
    await this.#offer(hub, told)
  }

  async #offer(hub: HubChild, told: Told): Promise<void> {
    const reply = await sendEnvelope(hub, told.envelope)
    const status = String(reply.json['status'] ?? reply.json['reason'])
    if (status !== 'queued' && status !== 'duplicate') throw new Error(`not queued: ${status}`)
    if (told.state === 'sent') told.state = 'acknowledged'
    told.rid = reply.json['rid'] as string
    this.answered += 1
  }

  /** Polls a little and confirms what came. */
  async collect(): Promise<void> {
    const { messages } = await this.#poll(0, COLLECTED_AT_ONCE)
    this.answered += 1
    const collected = messages.flatMap(message => this.#seen(message))
    if (collected.length === 0) return
    for (const told of collected) told.state = 'confirming'
    const items = collected.map(({ id, handle, dack }) => ({ id, handle, dack }))
    const { status, json } = await this.agent.call('relayAck', { items })
    if (status !== 200) throw new Error(`not acked: ${JSON.stringify(json)}`)
    for (const told of collected) told.state = 'confirmed'
    this.answered += 1
  }

  async #poll(afterId: number, limit: number): Promise<Polled> {
    const body = utf8(JSON.stringify({ limit, after_id: afterId }))
    const signed = this.agent.sign('poll', 'POST', '/relay/poll', body)
    const headers = { 'Content-Type': 'application/json', ...signed }
    const reply = await request(`${this.agent.target.url}/relay/poll`, 'POST', { headers, body })
    if (reply.status !== 200) throw new Error(`no poll: ${JSON.stringify(reply.json)}`)
    this.#accepted = { headers, body }
    return reply.json as unknown as Polled
  }

  /** Notes one delivery and what is wrong with it. */
  #seen({ id, envelope }: Polled['messages'][number]): Told[] {
    const name = nameOf(Buffer.from(envelope, 'base64url'))
    const told = this.#told.get(name)
    if (told === undefined) {
      const what = this.#settled.has(name)
        ? `${name} was confirmed and came back`
        : `${id} is an envelope that nobody sent`
      this.faults.push(what)
      return []
    }
    const owner = this.#ids.get(id)
    if (owner !== undefined && owner !== name) this.faults.push(`id ${id} was given twice`)
    if (told.id !== undefined && told.id !== id) this.faults.push(`${name} came under two ids`)
    if (told.id === undefined && id <= this.#idMax) this.faults.push(`id ${id} does not rise`)
    if (told.state === 'confirmed') this.faults.push(`${name} was confirmed and came back`)
    this.#ids.set(id, name)
    this.#idMax = Math.max(this.#idMax, id)
    told.id = id
    return [told]
  }

  /** Asks for the states of the newest envelopes. */
  async status(hub: HubChild): Promise<void> {
    const asked = [...this.#told.values()].filter(({ rid }) => rid !== undefined).slice(-STATUS_ITEMS_MAX)
    if (asked.length === 0) return
    const before = asked.map(({ state, done }) => ({ state, done }))
    const items = asked.map(({ rid, handle }) => ({ rid, handle }))
    const reply = await callRoute(hub, 'relayStatus', { items })
    if (reply.status === 429) return
    if (reply.status !== 200) throw new Error(`no status: ${JSON.stringify(reply.json)}`)
    const answers = reply.json['items'] as { state: string; dack?: string }[]
    this.answered += 1
    asked.forEach((told, index) => {
      const { state, dack } = answers[index] as { state: string; dack?: string }
      const was = before[index] as { state: Told['state']; done: boolean }
      const name = nameOf(told.envelope.bytes)
      if (state === 'unknown') this.faults.push(`${name} was accepted and its state is unknown`)
      if (was.done && state !== 'done') this.faults.push(`${name} was done and is ${state}`)
      if (was.state === 'confirmed' && state !== 'done')
        this.faults.push(`${name} was confirmed and is ${state}`)
      if (state === 'done' && dack !== told.dack) this.faults.push(`${name} has lost its confirmation`)
      told.done ||= state === 'done'
    })
  }

  /** After a restart: repeats what had no answer, then compares everything that is there with everything told. */
  async compare(hub: HubChild): Promise<void> {
    await this.#replay()
    for (const told of this.#told.values()) if (told.state === 'sent') await this.#offer(hub, told)
    const found = new Set<Told>()
    for (let afterId = 0; ; ) {
      const { messages } = await this.#poll(afterId, POLL_LIMIT)
      if (messages.length === 0) break
      for (const message of messages) {
        for (const told of this.#seen(message)) {
          if (found.has(told)) this.faults.push(`${message.id} is there twice`)
          found.add(told)
        }
        afterId = message.id
      }
    }
    for (const [name, told] of this.#told) {
      if (told.state === 'acknowledged' && !found.has(told)) {
        this.faults.push(`${name} was acknowledged and is lost`)
        this.lost += 1
      }
      // A confirmation that was on its way has arrived, or it has not.
      if (told.state === 'confirming') told.state = found.has(told) ? 'acknowledged' : 'confirmed'
    }
    await this.status(hub)
    this.#settle()
  }

  /** Of what was confirmed the newest is asked for again; of the rest a name is enough. */
  #settle(): void {
    for (const [name, { state }] of [...this.#told].slice(0, -STATUS_ITEMS_MAX)) {
      if (state !== 'confirmed') continue
      this.#told.delete(name)
      this.#settled.add(name)
    }
  }

  /** A signed request that was accepted before must not be accepted again. */
  async #replay(): Promise<void> {
    if (this.#accepted === undefined) return
    const reply = await request(`${this.agent.target.url}/relay/poll`, 'POST', this.#accepted)
    if (reply.status !== 401) this.faults.push(`a request was accepted twice: ${reply.status}`)
  }
}
