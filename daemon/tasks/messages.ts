/** Messages in words, from the text of a user or of a file of theirs. */

import { resolve } from 'node:path'
import { cidText } from '../../protocol/crypto/hash.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { FILE_BYTES_MAX, fileFault, readRegular } from '../platform/files.ts'
import { refuse } from '../refusal.ts'
import type { Outgoing } from '../store/threads.ts'

export function textMessage(text: string, attachments: readonly Attachment[], auto = false): Outgoing {
  const named = attachments.map(({ name, cid }) => ({ name, cid: cidText(cid) }))
  const document = documentBytes({ text, attachments: named })
  return {
    kind: kinds.message,
    payload: encodePayload(kinds.message, { document }),
    text,
    numbered: true,
    attachments,
    auto,
  }
}

/** Says that credits go back, with what the requester's node can have its hub move. */
export function refundMessage({ amount, encoded }: { amount: number; encoded: Uint8Array }): Outgoing {
  const text = amount === 1 ? '1 credit is given back' : `${amount} credits are given back`
  const document = documentBytes({ text, attachments: [] })
  return { ...textMessage(text, []), payload: encodePayload(kinds.message, { document, refund: encoded }) }
}

export const AS_A_FILE = 'send it as a file: --attach PATH'
const SPLIT = 'split it, and send the parts as files: --attach PATH'
const FILE_MIB_MAX = FILE_BYTES_MAX / (1024 * 1024)

/** The words of a file of this user. */
export function readText(path: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readRegular(resolve(path), FILE_BYTES_MAX))
    if (!text.includes('\0')) return text
  } catch (error) {
    if (error instanceof TypeError && systemCode(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      refuse('file_unreadable', `${path} is not UTF-8 text`, AS_A_FILE)
    if (systemCode(error) === 'EFBIG')
      refuse('file_unreadable', `${path} is larger than the ${FILE_MIB_MAX} MiB that a file may have`, SPLIT)
    return refuse('file_unreadable', `cannot read ${path}: ${fileFault(error)}`)
  }
  return refuse('file_unreadable', `${path} is not text: it holds NUL bytes`, AS_A_FILE)
}
