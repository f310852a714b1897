/** Calls of this node's own capabilities that came over a local interface: taken here, run and paid like those of mail. */
import { sha256 } from '#crypto'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { MESSAGE_ID_BYTES } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes, documentCid, parseRequestDocument } from '../../protocol/proof/documents.ts'
import { PAY_SALT_BYTES } from '../../protocol/proof/payment.ts'
import type { Identity } from '../identity/identity.ts'
import type { Machine } from '../platform/machine.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import type { Dispatch } from './dispatch.ts'
import type { TaskNews } from './news.ts'

const PREVIEW_CHARACTERS = 200

export type LocalCall = {
  id: string
  /** Whoever pays; without one this node's own identity asks. */
  caller?: string | undefined
  capability: string
  args: Record<string, JsonValue>
  /** What pays for it, without a purpose: it is for this call alone. */
  authorization?: Uint8Array | undefined
}

type LocalParts = { identity: Identity; threads: Threads; dispatch: Dispatch; news: TaskNews }

export class LocalCalls {
  readonly #parts: LocalParts
  readonly #random: Machine['random']

  constructor(parts: LocalParts, random: Machine['random']) {
    this.#parts = parts
    this.#random = random
  }

  /** Takes a call, which is run as soon as there is room; runs inside a transaction. */
  take(call: LocalCall): Interaction {
    const { identity, threads, dispatch, news } = this.#parts
    const { id, caller = identity.aid, capability, args, authorization } = call
    const document = documentBytes({ capability, args })
    parseRequestDocument(document)
    const text = `${capability} ${JSON.stringify(args)}`
    const created = threads.create({
      id,
      delegator: caller,
      peer: caller,
      side: 'received',
      state: 'open',
      way: 'local',
      capability,
      preview: text.slice(0, PREVIEW_CHARACTERS),
      commitment: null,
      requestCid: documentCid(document),
    })
    const payload = encodePayload(kinds.delegate, {
      document,
      requesterCommitment: sha256(utf8(id)),
      ...present({
        paySalt: authorization && this.#random(PAY_SALT_BYTES),
        authorization,
      }),
    })
    const body = {
      from: caller,
      to: identity.aid,
      messageId: this.#random(MESSAGE_ID_BYTES),
      kind: kinds.delegate,
      number: 1,
      payload,
      attachments: [],
    }
    const { interaction } = threads.storeIncoming(created, body, { digest: sha256(payload), text })
    news.step(interaction)
    dispatch.handOver(interaction, dispatch.answeringOf(capability))
    return threads.byKey(interaction.key)
  }
}
