/** Messages in words, from the text of a user or of a file of theirs. */

import * as fs from 'node:fs'
import { resolve } from 'node:path'
import { cidText } from '../../protocol/crypto/hash.ts'
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
    return fs.readFileSync(resolve(path), 'utf8')
  } catch (error) {
    return refuse('file_unreadable', `cannot read ${path}: ${fileFault(error)}`)
  }
}
