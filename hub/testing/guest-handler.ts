/** For tests: an agent of wire 1 that collects its mail and answers the hub's guests in open messages of its own. */
import { fromBase64, fromBase64url, fromUtf8, toBase64 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { messagePayload } from '../../protocol/mail/message.ts'
import { decodeOpen, encodeOpen, signOpen } from '../../protocol/mail/open-message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { random } from './hub.ts'
import type { OpenAgent, Wire1Client } from './wire1.ts'

type Sent = { hub: string; to: string; task: string; number: number; kind: number; payload: Uint8Array }

/** The request that sends one message of an agent in a task. */
export function openMail(agent: OpenAgent, { hub, to, task, number, kind, payload }: Sent) {
  const body = {
    ...{ v: 1 as const, from: agent.aid, kelSeq: agent.log.seq, to, messageId: random(16) },
    ...{ tsMs: agent.nowMs, kind, interactionId: fromBase64url(task), number, storedUpTo: 1 },
    ...{ payload, kelHeadDigest: agent.log.headDigest, attachments: [] },
  }
  return {
    ...{ to_aid: hub, from_aid: agent.aid, kind: 'message', interaction_id: task },
    payload: toBase64(encodeOpen(signOpen(agent.seed, body, []))),
  }
}

/** Words as a message carries them. */
export const wordsFrom = (text: string): Uint8Array =>
  encodePayload(kinds.message, { document: documentBytes({ text, attachments: [] }) })

/** What a guest said: words, and files by name with their bytes; `end` where the guest asks for it. */
export type GuestSaid = { text: string; files: { name: string; bytes: number }[]; end: boolean }
/** What the agent says to it: words, and whether it asks for the end, or agrees to it. */
export type HandlerSays = { words?: string[]; end?: boolean; agree?: boolean }

type Got = { id: string; interaction_id: string; payload: string }

const EVERY_MS = 100

/** Answers guests until it is stopped. */
export class GuestHandler {
  readonly agent: OpenAgent
  readonly #client: Wire1Client
  readonly #says: (said: GuestSaid) => HandlerSays
  readonly #sent = new Map<string, number>()
  #running: Promise<void>
  #isStopped = false

  constructor(client: Wire1Client, agent: OpenAgent, says: (said: GuestSaid) => HandlerSays) {
    this.agent = agent
    this.#client = client
    this.#says = says
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const { status, json } = await this.agent.poll()
      if (status !== 200) throw new Error(`no mail: ${JSON.stringify(json)}`)
      const messages = json['messages'] as Got[]
      for (const message of messages) await this.#answer(message)
      const ids = messages.map(({ id }) => id)
      await this.#client.post('/relay/ack', { ...this.agent.sign('ack'), ids })
      await new Promise(resolve => setTimeout(resolve, EVERY_MS))
    }
  }

  async #answer({ interaction_id: task, payload }: Got): Promise<void> {
    const { body, attachments } = decodeOpen(fromBase64(payload))
    const message = messagePayload(body)
    const text = 'document' in message.payload ? textOf(message.payload.document) : ''
    const files = body.attachments.map(({ name }, at) => ({ name, bytes: attachments[at]?.length ?? 0 }))
    const { words = [], end, agree } = this.#says({ text, files, end: message.kind === kinds.end })
    for (const one of words) await this.#say(task, kinds.message, () => wordsFrom(one))
    const peerHighest = body.number
    if (end === true)
      await this.#say(task, kinds.end, number =>
        encodePayload(kinds.end, { number, peerHighest, missing: [] }),
      )
    if (agree === true)
      await this.#say(task, kinds.acceptEnd, number =>
        encodePayload(kinds.acceptEnd, { endNumber: peerHighest, number, peerHighest, missing: [] }),
      )
  }

  async #say(task: string, kind: number, payload: (number: number) => Uint8Array): Promise<void> {
    const number = (this.#sent.get(task) ?? 0) + 1
    this.#sent.set(task, number)
    const { aid: hub } = this.#client.hub
    const given = { hub, to: hub, task, number, kind, payload: payload(number) }
    const { status, json } = await this.#client.post('/relay/send', openMail(this.agent, given))
    if (status !== 200) throw new Error(`not sent: ${JSON.stringify(json)}`)
  }
}

function textOf(document: Uint8Array): string {
  const read = parseJson(fromUtf8(document)) as Record<string, unknown>
  return String(read['task'] ?? read['text'])
}
