/** Messages in words, from the text of a user or of a file of theirs. */

import * as fs from 'node:fs'
import { resolve } from 'node:path'
import { cidText } from '../../protocol/crypto/hash.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { encodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { fileFault } from '../platform/files.ts'
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

export function readText(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(resolve(path)))
  } catch (error) {
    if (error instanceof TypeError && systemCode(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      refuse('file_unreadable', `${path} is not UTF-8 text`, 'send it as a file: --attach PATH')
    return refuse('file_unreadable', `cannot read ${path}: ${fileFault(error)}`)
  }
}
