/** Calls of this node's own capabilities that came over a local interface: taken here, run and paid like those of mail. */
import { sha256 } from '#crypto'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'
import { present } from '../../protocol/encoding/present.ts'
import { MESSAGE_ID_BYTES } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes, documentCid, parseRequestDocument } from '../../protocol/proof/documents.ts'
import { PAY_SALT_BYTES } from '../../protocol/proof/payment.ts'
import type { Context } from '../context.ts'
import type { Interaction } from '../store/threads.ts'
import type { ConversationNeeds } from './conversation.ts'
import { answeringOf, handOver } from './dispatch.ts'

type Needs = ConversationNeeds & Pick<Context, 'modules' | 'random'>

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

/** Takes a call, which is run as soon as there is room; runs inside a transaction. */
export function takeLocalCall(ctx: Needs, call: LocalCall): Interaction {
  const { id, caller = ctx.identity.aid, capability, args, authorization } = call
  const document = documentBytes({ capability, args })
  parseRequestDocument(document)
  const text = `${capability} ${JSON.stringify(args)}`
  const created = ctx.threads.create({
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
      paySalt: authorization && ctx.random(PAY_SALT_BYTES),
      authorization,
    }),
  })
  const body = {
    from: caller,
    to: ctx.identity.aid,
    messageId: ctx.random(MESSAGE_ID_BYTES),
    kind: kinds.delegate,
    number: 1,
    payload,
    attachments: [],
  }
  const { interaction } = ctx.threads.storeIncoming(created, body, { digest: sha256(payload), text })
  ctx.store.afterCommit(() => ctx.events.emit('inbox', { interaction_id: id, peer: caller, state: 'open' }))
  handOver(ctx, interaction, answeringOf(ctx, capability))
  return ctx.threads.byKey(interaction.key)
}
