/** What the hub writes for a visitor, signed by itself, and what a visitor reads of an answer. */
import { contentId } from '../../../protocol/crypto/hash.ts'
import { fromBase64url, fromUtf8, Malformed } from '../../../protocol/encoding/bytes.ts'
import { parseJson } from '../../../protocol/encoding/json.ts'
import { MESSAGE_ID_BYTES } from '../../../protocol/mail/message.ts'
import { encodeOpen, signOpen } from '../../../protocol/mail/open-message.ts'
import { type AnyPayload, encodePayload, kinds, MISSING_MAX } from '../../../protocol/mail/payload.ts'
import { documentBytes, documentCid, ResultDocument } from '../../../protocol/proof/documents.ts'
import type { HubContext } from '../context.ts'
import type { GuestSession, GuestWord } from '../ports/guests.ts'
import { missingOf } from './session.ts'

const COMMITMENT_BYTES = 32
/** The goal of a delegation that has files and no words. */
const PLACEHOLDER_GOAL = 'A visitor sends the attached files.'

export type GuestFile = { name: string; mediaType: string; content: Uint8Array }
export type Said = { text: string; files: readonly GuestFile[] }

export type Encoded = { kind: number; payload: Uint8Array; files?: readonly GuestFile[] }

/** The first words are the delegation, all later ones messages. */
export function wordsOf({ random }: HubContext, isFirst: boolean, { text, files }: Said): Encoded {
  const attachments = files.map(({ name, content }) => ({ name, cid: documentCid(content) }))
  if (!isFirst) {
    const document = documentBytes({ text, attachments })
    return { kind: kinds.message, payload: encodePayload(kinds.message, { document }), files }
  }
  const document = documentBytes({ task: text === '' ? PLACEHOLDER_GOAL : text, attachments })
  const requesterCommitment = random(COMMITMENT_BYTES)
  return {
    kind: kinds.delegate,
    payload: encodePayload(kinds.delegate, { document, requesterCommitment }),
    files,
  }
}

/** The end of a task as the message of this number, or the word that the end which the handler asked for is accepted. */
export function endOf(session: GuestSession, number: number): Encoded {
  const { peerHighest, missing: all } = missingOf(session)
  const missing = all.slice(0, MISSING_MAX)
  const { endNumber } = session
  if (endNumber === undefined)
    return { kind: kinds.end, payload: encodePayload(kinds.end, { number, peerHighest, missing }) }
  const accepted = { endNumber, number, peerHighest, missing }
  return { kind: kinds.acceptEnd, payload: encodePayload(kinds.acceptEnd, accepted) }
}

/** The message of this number to the handler, signed by the hub. */
export function signedWords(
  { identity, random, now }: HubContext,
  { handler, task, heardUpTo }: GuestSession,
  number: number,
  { kind, payload, files = [] }: Encoded,
): Uint8Array {
  const body = {
    ...{ v: 1 as const, from: identity.aid, kelSeq: identity.seq, to: handler },
    ...{ messageId: random(MESSAGE_ID_BYTES), tsMs: now(), kind, interactionId: fromBase64url(task) },
    ...{ number, storedUpTo: heardUpTo, payload, kelHeadDigest: identity.kel.headDigest },
    attachments: files.map(({ name, mediaType, content }) => ({
      ...{ name, mediaType, size: content.length },
      cid: contentId(content),
    })),
  }
  const contents = files.map(({ content }) => content)
  return encodeOpen(signOpen(identity.seed, body, contents))
}

/** What the visitor reads of it; undefined for steps of the protocol. */
export function readWords({ kind, payload }: AnyPayload): GuestWord | undefined {
  if (kind === kinds.result || kind === kinds.message)
    return { body: textOf(payload.document), system: false, end: '' }
  if (kind === kinds.declined || kind === kinds.cancelled)
    return { body: payload.reason, system: true, end: 'accepted' }
  if (kind === kinds.end) return { body: '', system: true, end: 'requested' }
  if (kind === kinds.acceptEnd) return { body: '', system: true, end: 'accepted' }
  return undefined
}

function textOf(document: Uint8Array): string {
  const { success, data } = ResultDocument.safeParse(parseJson(fromUtf8(document)))
  if (!success) throw new Malformed('the document is no answer')
  return String('message' in data ? data.message : data.text)
}
