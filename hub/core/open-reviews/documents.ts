/** The documents of a reviewed task as people read them. */
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { documentCid, parseRequestDocument, parseResultDocument } from '../../../protocol/proof/documents.ts'
import type { HeldOpenReview } from '../../store/open-review-port.ts'

/** Text and content id of both; one of another form has no text. */
export const documentsOf = ({ request, deliverable }: Pick<HeldOpenReview, 'request' | 'deliverable'>) => ({
  goal: goalOf(request),
  answer: answerOf(deliverable),
  requestCid: documentCid(request),
  resultCid: documentCid(deliverable),
})

const goalOf = (bytes: Uint8Array): string => {
  const document = read(parseRequestDocument, bytes)
  if (document === undefined) return ''
  return 'task' in document ? document.task : document.capability
}

const answerOf = (bytes: Uint8Array): string => {
  const document = read(parseResultDocument, bytes)
  if (document === undefined) return ''
  return 'message' in document ? String(document.message) : String(document.text)
}

function read<T>(parse: (bytes: Uint8Array) => T, bytes: Uint8Array): T | undefined {
  try {
    return parse(bytes)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
