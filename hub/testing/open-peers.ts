/** For tests: hubs that exchange open mail, and one that is only a key and says what a test wants. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { cardText } from '../../protocol/identity/card.ts'
import { encodeKel, incept, rotate, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { signOpenCard } from '../../protocol/identity/open-card.ts'
import { type Forward, signForward } from '../../protocol/mail/forward.ts'
import { plainCard } from './cards.ts'
import { random, type TestHub } from './hub.ts'
import type { OpenAgent } from './wire1.ts'

/** Both list each other, for open mail alone. */
export async function federate(one: TestHub, other: TestHub): Promise<void> {
  for (const [at, of] of [
    [one, other],
    [other, one],
  ] as const)
    await listOpenPeer(at, {
      url: of.running.wire1?.url ?? of.url,
      log: of.running.hub.context.identity.kel,
    })
}

export async function listOpenPeer(
  at: TestHub,
  { url, log }: { url: string; log: VerifiedKel },
): Promise<void> {
  const kel = toBase64url(encodeKel(log.events))
  await at.running.order({ command: 'peers', add: { open_url: url, kel } })
}

/** The text of a card that an agent signs under its newest key. */
export const openCardText = (
  { seed, aid, log }: Pick<OpenAgent, 'seed' | 'aid' | 'log'>,
  number: number,
  more: Partial<typeof plainCard> = {},
): string => cardText(signOpenCard({ ...plainCard, ...more }, { seed, aid, seq: log.seq, number }))

export type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => unknown

/** A hub that is a key and a server: `answer` says what it tells. */
export class MadeUpHub {
  readonly #seeds = [random(32), random(32)]
  readonly #server = createServer((request, response) => {
    // a hub that stops asking takes its request along
    this.#handle(request, response).catch(() => response.destroy())
  })
  log: VerifiedKel
  answer: Answer = () => ({ cursor: 0, cards: [], reviews: [] })
  /** Path with query of each request. */
  readonly asked: string[] = []

  constructor(nowMs: number) {
    const [seed, nextSeed] = this.#seeds as [Uint8Array, Uint8Array]
    this.log = incept({ seed, nextSeed, ts: nowMs - 1000 })
  }

  get aid(): string {
    return this.log.aid
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  seedOf(seq: number): Uint8Array {
    return this.#seeds[seq] as Uint8Array
  }

  rotate(nowMs: number): void {
    const nextSeed = random(32)
    this.#seeds.push(nextSeed)
    this.log = rotate(this.log, { seed: this.seedOf(this.log.seq + 1), nextSeed, ts: nowMs })
  }

  listen(): Promise<void> {
    return new Promise(resolve => this.#server.listen(0, '127.0.0.1', resolve))
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.asked.push(request.url ?? '')
    let body = ''
    for await (const part of request) body += String(part)
    if (request.url === '/hub/identity') {
      response.end(JSON.stringify({ aid: this.aid, kel: toBase64(encodeKel(this.log.events)) }))
      return
    }
    const given = await this.answer(request, body, response)
    if (given === undefined) return
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(given))
  }

  /** A forward record that the hub `to` takes, but for what is given. */
  record(
    to: { aid: string; nowMs: number },
    text: string,
    more: Partial<Forward> & { payload?: string } = {},
  ): Record<string, unknown> {
    const { payload = toBase64(utf8(text)), ...changes } = more
    const forward: Forward = {
      ...{ v: 1, origin: this.aid, dest: to.aid, from: 'whoever', kind: 'message', interaction: 'i' },
      payloadCid: cidText(contentId(utf8(text))),
      ...{ hop: 1, seenHubs: [this.aid], ts: to.nowMs, kelSeq: this.log.seq },
      ...changes,
    }
    return {
      ...{ v: forward.v, origin_hub_aid: forward.origin, dest_aid: forward.dest, from_aid: forward.from },
      ...{
        kind: forward.kind,
        interaction_id: forward.interaction,
        payload,
        payload_cid: forward.payloadCid,
      },
      ...{ hop: forward.hop, seen_hubs: forward.seenHubs, ts: forward.ts, key_state_seq: forward.kelSeq },
      sig: toBase64(signForward(this.seedOf(forward.kelSeq), forward)),
    }
  }
}
