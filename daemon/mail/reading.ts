/** What a message says: its words for a reader, and the document of a request. */
import { capTag } from '../../protocol/contract/shapes.ts'
import { cidText } from '../../protocol/crypto/hash.ts'
import { Malformed } from '../../protocol/encoding/bytes.ts'
import type { Attachment, MessageBody } from '../../protocol/mail/message.ts'
import { type AnyPayload, kinds } from '../../protocol/mail/payload.ts'
import {
  parseRequestDocument,
  parseResultDocument,
  type RequestDocument,
} from '../../protocol/proof/documents.ts'
import { effectText } from '../../protocol/proof/effect.ts'

/** What a reader sees of a message; undefined when its document is not one, or names other files than it brings. */
export function readableText(message: AnyPayload, brought: readonly Attachment[]): string | undefined {
  try {
    switch (message.kind) {
      case kinds.result:
      case kinds.message:
      case kinds.quote: {
        const document = parseResultDocument(message.payload.document)
        if ('status' in document) return effectText(document)
        return 'text' in document && namesAll(document.attachments, brought) ? document.text : undefined
      }
      case kinds.declined:
      case kinds.cancelled:
        return message.payload.reason
      default:
        return ''
    }
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** The request document, when it is one and names exactly the attachments that came with it or will come. */
export function requestOf(bytes: Uint8Array, body: MessageBody): RequestDocument | undefined {
  try {
    const document = parseRequestDocument(bytes)
    if (!('task' in document))
      return body.attachments.length === 0 && capTag.safeParse(document.capability).success
        ? document
        : undefined
    return namesAll(document.attachments, body.attachments) ? document : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Whether a document names every file that came with it; those that it names besides come later. */
function namesAll(named: readonly { name: string; cid: string }[], brought: readonly Attachment[]): boolean {
  return brought.every(({ name, cid }) => named.some(file => file.name === name && file.cid === cidText(cid)))
}
