/**
 * From a capability id to the effect of running it. This release has no provider: a call is handed to auto-reply as a
 * task in words where one is configured, else it is answered as unavailable.
 */

import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { CborValue } from '../../protocol/encoding/cbor.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import {
  buildEffect,
  type Effect,
  isVerifiable,
  renderEffect,
  renderEvidence,
} from '../../protocol/proof/effect.ts'
import type { Context } from '../context.ts'
import type { Interaction } from '../store/threads.ts'
import { proposeEnd } from './conversation.ts'

type Needs = Pick<
  Context,
  | 'identity'
  | 'store'
  | 'chain'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'attachments'
  | 'threads'
  | 'settings'
  | 'wakers'
  | 'events'
  | 'now'
  | 'hubNow'
>

/** The effect of a call on this node, or undefined when it is to be answered in words. */
export function resolveCapability(ctx: Needs): Effect | undefined {
  if (ctx.settings.current.auto_reply !== undefined) return undefined
  return buildEffect({ status: 'UNAVAILABLE', message: 'this node does not serve this capability' })
}

/** Answers a call with its effect, records it and proposes the end; runs inside the transaction of the caller. */
export function answerWithEffect(ctx: Needs, interaction: Interaction, effect: Effect): Interaction {
  const document = utf8(renderEffect(effect))
  const resultCid = cidText(contentId(document))
  ctx.chain.append('svc.capability.effect', {
    interaction_id: interaction.id,
    capability: interaction.capability ?? '',
    caller_aid: interaction.peer,
    status: effect.status,
    verifiable: isVerifiable(effect),
    metrics: new Map<string, CborValue>(),
    result_cid: resultCid,
    evidence: new Map(Object.entries(renderEvidence(effect.evidence)) as [string, CborValue][]),
  })
  const { interaction: answered } = ctx.threads.queue(interaction, {
    kind: kinds.result,
    payload: encodePayload(kinds.result, { document }),
    text: `${effect.status}: ${effect.message}`,
    numbered: true,
  })
  return proposeEnd(ctx, answered)
}
