/** Mail from an agent of one hub to one of another, and what its sender was told of it. */
import { randomBytes } from 'node:crypto'
import { callRoute, type TestAgent, type TestCapability, type TestSession } from '../../../hub/testing/hub.ts'
import {
  sealedForStranger,
  sealedUnderCapability,
  sendEnvelope,
  type TestEnvelope,
} from '../../../hub/testing/mail.ts'
import { fromBase64url } from '../../../protocol/encoding/bytes.ts'
import { headers } from '../../../protocol/wire3/headers.ts'
import type { Side } from './side.ts'

/** Alice writes to bob, under a capability of his. */
export type Correspondents = { alice: TestAgent; bob: TestAgent; capability: TestCapability }
type Told = { rid: string; atMs: number }

export class Letter {
  readonly envelope: TestEnvelope
  readonly #from: Side
  readonly #to: Side
  readonly #sender: TestAgent
  readonly #recipient: TestAgent
  readonly #isStranger: boolean
  name: string
  /** The answer of the sender's hub that it is kept; undefined while it is not. */
  told: Told | undefined
  /** Why it was not kept, as its sender was told last. */
  why = 'not sent'
  #asking: Promise<void> | undefined

  constructor(
    hubs: { from: Side; to: Side },
    { alice, bob, capability }: Correspondents,
    given: LetterOptions,
  ) {
    this.#from = hubs.from
    this.#to = hubs.to
    this.#sender = alice
    this.#recipient = bob
    this.#isStranger = given.isStranger === true
    this.name = given.name
    const size = { contentBytes: given.bytes ?? 500 }
    this.envelope = this.#isStranger
      ? sealedForStranger(bob, size)
      : sealedUnderCapability(bob, capability, size)
  }

  get hubs(): { from: Side; to: Side } {
    return { from: this.#from, to: this.#to }
  }

  /**
   * Sends it, or asks for what became of it; what the recipient's hub does not know any more is sent again. Whoever has
   * no answer yet waits on.
   */
  async ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    await this.#asking
  }

  async #ask(): Promise<void> {
    if (!this.#from.isUp) return
    if (this.told !== undefined && (await this.#state(this.told)) !== 'unknown') return
    const session = this.#isStranger ? await this.#openSession() : undefined
    if (this.#isStranger && session === undefined) return
    const { status, json } = await sendEnvelope(this.#from.target, this.envelope, session, {
      [headers.home]: this.#to.aid,
    })
    if (status === 200) this.told = { rid: String(json['rid']), atMs: this.#from.now() }
    else this.why = String(json['reason'])
  }

  /** Undefined where its hub gives none now. */
  async #openSession(): Promise<TestSession | undefined> {
    try {
      return await this.#sender.openSession()
    } catch (error) {
      if (error instanceof TypeError) throw error
      return undefined
    }
  }

  async #state({ rid }: Told): Promise<unknown> {
    const handle = Buffer.from(randomBytes(16)).toString('base64url')
    const asked = { items: [{ rid, handle, via_hub: this.#to.aid }] }
    const { json } = await callRoute(this.#from, 'relayStatus', asked)
    return (json['items'] as { state: string }[] | undefined)?.[0]?.state
  }

  /** How often it lies in the mailbox of its recipient. */
  async arrived(): Promise<number> {
    const { messages } = await this.#recipient.poll({ limit: 100 })
    return messages.filter(({ envelope }) => Buffer.from(fromBase64url(envelope)).equals(this.envelope.bytes))
      .length
  }
}

export type LetterOptions = { name: string; bytes?: number; isStranger?: boolean }
