/** The two documents of a task, byte for byte as they were sent. */
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentCid } from '../../protocol/proof/documents.ts'
import type { Store } from '../store/open.ts'
import type { Interaction, Threads } from '../store/threads.ts'
import { keysOfKinds } from '../store/transcripts.ts'

const DOCUMENT_KINDS = [kinds.delegate, kinds.result, kinds.message, kinds.quote]

export type Documents = { request: Uint8Array | undefined; result: Uint8Array | undefined }

/** `result` is the one that the receipt names. */
export function documentsOf(store: Store, threads: Threads, interaction: Interaction): Documents {
  const found: Documents = { request: undefined, result: undefined }
  for (const key of keysOfKinds(store, interaction.key, DOCUMENT_KINDS)) {
    const message = threads.message(key)
    const decoded = decodePayload(message.kind, message.payload)
    if (decoded.kind === kinds.delegate) found.request = decoded.payload.document
    else if ('document' in decoded.payload && interaction.resultCid === documentCid(decoded.payload.document))
      found.result = decoded.payload.document
  }
  return found
}
