/** A carrier that seals nothing, for tests of what stands above carriers: a counter over which words go as they are. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { type MessageBody, messageDigest } from '../../protocol/mail/message.ts'
import type { Arrived, Carrier, Carriers, Fate, Taker } from '../carrier/carrier.ts'
import { headOf } from '../carrier/head.ts'
import type { Ground } from '../context.ts'
import type { Identity } from '../identity/identity.ts'
import type { OutboxEntry } from '../store/outbox.ts'
import type { Verdict } from '../store/seen.ts'

type Letter = { id: string; body: MessageBody; files: Map<string, Uint8Array[]> }

/** What lies there, and what its recipients said of the rest. */
export class Counter {
  readonly letters: Letter[] = []
  readonly verdicts = new Map<string, Verdict>()
  readonly agents = new Map<string, Pick<Identity, 'log'>>()
  #ids = 0

  async leave(body: MessageBody, files: Letter['files']): Promise<string> {
    const id = `letter-${++this.#ids}`
    this.letters.push({ id, body, files })
    return id
  }
}

/** Carriers of one node over a counter that is shared with others. */
export function openCarriers(ctx: Ground, counter: Counter): Carriers {
  counter.agents.set(ctx.identity.aid, ctx.identity)
  const carrier = new OpenCarrier(ctx, counter)
  return {
    over: () => carrier,
    async find(aid) {
      const log = counter.agents.get(aid)?.log
      if (log === undefined) return { outcome: 'not_listed' }
      return { outcome: 'found', peer: ctx.peers.learn(ctx.peers.merge(aid, log.events), undefined) }
    },
  }
}

class OpenCarrier implements Carrier {
  readonly #ctx: Ground
  readonly #counter: Counter

  constructor(ctx: Ground, counter: Counter) {
    this.#ctx = ctx
    this.#counter = counter
  }

  async deliver(entry: OutboxEntry): ReturnType<Carrier['deliver']> {
    const { attachments } = this.#ctx
    const files: Letter['files'] = new Map()
    for (const { cid } of this.#ctx.threads.attachmentsOf(entry.message)) {
      const pieces: Uint8Array[] = []
      for await (const piece of attachments.read(cidText(cid))()) pieces.push(new Uint8Array(piece))
      files.set(cidText(cid), pieces)
    }
    const rid = await this.#counter.leave(headOf(this.#ctx, entry), files)
    const at = { rid, viaHub: null, credential: null, expiresAt: null }
    return { outcome: 'at_hub', at, isQuiet: false, reached: true }
  }

  async fatesOf(entries: readonly OutboxEntry[]): Promise<Fate[]> {
    return entries.map(({ rid }) => {
      const verdict = this.#counter.verdicts.get(rid ?? '')
      if (verdict !== undefined) return { is: 'judged', verdict }
      return { is: this.#counter.letters.some(({ id }) => id === rid) ? 'waiting' : 'unknown' }
    })
  }

  async collect(_: unknown, by: Taker): ReturnType<Carrier['collect']> {
    const { letters, verdicts } = this.#counter
    const mine = letters.filter(({ body }) => body.to === this.#ctx.identity.aid)
    for (const { id, body, files } of mine) {
      const arrived = this.#arrived(body)
      const verdict = by.earlier(arrived) ?? (await by.take(arrived, filesOf(body, files)))
      verdicts.set(id, verdict)
      letters.splice(
        letters.findIndex(one => one.id === id),
        1,
      )
    }
    return { taken: mine.length, held: true }
  }

  async look(
    { after }: { after?: number | undefined },
    see: (arrived: Arrived) => void,
  ): ReturnType<Carrier['look']> {
    const mine = this.#counter.letters.filter(({ body }) => body.to === this.#ctx.identity.aid)
    for (const { body } of mine) see(this.#arrived(body))
    return { taken: 0, held: true, more: false, after }
  }

  /** Its counter vouches for the sender, by the log that it has of it. */
  #arrived(body: MessageBody): Arrived {
    const log = this.#counter.agents.get(body.from)?.log
    if (log === undefined) throw new Error(`${body.from} has left no log`)
    const nothing = { came: () => {}, taken: () => {} }
    return {
      body,
      digest: messageDigest(body),
      untilMs: body.tsMs + 86_400_000,
      way: 'open',
      log: this.#ctx.peers.merge(body.from, log.events),
      keySet: undefined,
      credentials: nothing,
    }
  }
}

function filesOf(body: MessageBody, files: Letter['files']): Parameters<Taker['take']>[1] {
  return {
    body,
    async *parts() {
      for (const [index, { cid }] of body.attachments.entries())
        for (const chunk of files.get(cidText(cid)) ?? []) yield { index, chunk }
    },
  }
}
