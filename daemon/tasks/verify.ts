/** The verdict on a completed interaction: both signatures, the content, and when the receipt was first held here. */

import type { VerifyVerdict } from '../../protocol/control/shapes.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { toBase64, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { ChainRecord } from '../../protocol/proof/evidence.ts'
import {
  judgeReceipt,
  resultMatches,
  type Side,
  sayJudgement,
  saySides,
  type TimeEvidence,
} from '../../protocol/proof/judge.ts'
import {
  CounterSignature,
  counterSignatureHolds,
  Receipt,
  receiptId,
  verifyReceipt,
} from '../../protocol/proof/receipt.ts'
import type { Context } from '../context.ts'
import { refuse } from '../refusal.ts'
import type { Interaction } from '../store/threads.ts'
import { isRequester } from './conversation.ts'

type Needs = Pick<Context, 'identity' | 'store' | 'peers' | 'threads'>

export function verifyInteraction(ctx: Needs, interaction: Interaction): VerifyVerdict {
  if (interaction.receipt === null) refuse('no_receipt', 'this interaction has no receipt yet')
  const receipt = Receipt.decode(interaction.receipt)
  const ownSide = !isRequester(interaction)
  const peerLog = ctx.peers.find(interaction.peer)?.log
  const provider = ownSide ? ctx.identity.log : peerLog
  const requester = ownSide ? peerLog : ctx.identity.log
  if (provider === undefined) refuse('no_receipt', 'no verified key history of the provider is stored here')
  const evidence = firstHeld(ctx, interaction)
  const judgement = judgeReceipt(receipt, provider, evidence === undefined ? {} : { evidence })
  const counterSigned =
    interaction.counterSignature !== null &&
    requester !== undefined &&
    counterSignatureHolds(CounterSignature.decode(interaction.counterSignature), receipt, requester)
  const content = resultBytes(ctx, interaction, receipt)
  const disputed = interaction.receiptState === 'disputed'
  const providerSigned = verifyReceipt(receipt, provider) !== undefined
  const sides: Side[] = [
    ...(providerSigned ? (['provider'] as const) : []),
    ...(providerSigned && counterSigned ? (['requester'] as const) : []),
  ]
  const retired = judgement.verdict === 'valid_retired_key' ? judgement : undefined
  return {
    verdict: disputed ? 'invalid' : judgement.verdict,
    says: disputed
      ? (interaction.receiptNote ?? 'the receipt is disputed')
      : `${sayJudgement(judgement)} ${saySides(sides)}`.trim(),
    interaction_id: interaction.id,
    provider: receipt.body.provider,
    requester: interaction.delegator,
    status: receipt.body.status,
    receipt_id: receiptId(receipt),
    request_cid: cidText(receipt.body.requestCid),
    result_cid: cidText(receipt.body.resultCid),
    content_checked: content !== undefined && resultMatches(receipt, content),
    counter_signed: counterSigned,
    signed_by: sides,
    receipt: toBase64(interaction.receipt),
    ...present({
      retired_at: retired?.retiredAt,
      evidence: retired?.evidence.source,
    }),
  }
}

/** Our own chain record of the receipt, which says when it was held. */
function firstHeld(ctx: Needs, interaction: Interaction): TimeEvidence | undefined {
  const row = noted(ctx, interaction) ?? searched(ctx, interaction)
  if (row === undefined) return undefined
  const record = ChainRecord.decode(row.record)
  return { at: record.ts, source: `record ${row.seq} of the evidence chain` }
}

type StoredRecord = { seq: number; record: Uint8Array }

function noted(ctx: Needs, interaction: Interaction): StoredRecord | undefined {
  return ctx.store.get<StoredRecord>(
    'SELECT c.seq, c.record FROM interactions AS i JOIN chain AS c ON c.seq = i.receipt_seq WHERE i.key = ?',
    interaction.key,
  )
}

/** For interactions of releases that did not note the record: one at a time, the newest first. */
function searched(ctx: Needs, interaction: Interaction): StoredRecord | undefined {
  const type = isRequester(interaction) ? 'svc.result.accepted' : 'svc.interaction.receipt'
  return ctx.store.get<StoredRecord>(
    'SELECT seq, record FROM chain WHERE type = ? AND instr(record, ?) > 0 ORDER BY seq DESC LIMIT 1',
    type,
    utf8(interaction.id),
  )
}

/** The document of the receipt among the messages, the newest first, one in memory at a time. */
function resultBytes(ctx: Needs, interaction: Interaction, receipt: Receipt): Uint8Array | undefined {
  const keys = ctx.store.all<{ key: number }>(
    `SELECT key FROM messages WHERE interaction = ? AND kind IN (${kinds.result}, ${kinds.message}) ORDER BY key DESC`,
    interaction.key,
  )
  for (const { key } of keys) {
    const message = ctx.threads.message(key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind !== kinds.result && decoded.kind !== kinds.message) continue
    if (resultMatches(receipt, decoded.payload.document)) return decoded.payload.document
  }
  return undefined
}
