/** A task as its requester gave it, to be given once more: with its payment, or to somebody who has lost it. */
import { cidText } from '../../protocol/crypto/hash.ts'
import type { Attachment } from '../../protocol/mail/message.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { parseRequestDocument } from '../../protocol/proof/documents.ts'
import type { Interaction, Threads } from '../store/threads.ts'

export type GivenTask = {
  peer: string
  document: Uint8Array
  text: string
  capability: string | null
  attachments: readonly Attachment[]
}

/** Document, words and every file that the document names, also those that went in messages of their own. */
export function taskAsGiven(
  threads: Threads,
  { key, peer, capability }: Pick<Interaction, 'key' | 'peer' | 'capability'>,
): GivenTask {
  const own = threads.messages(key).filter(({ direction }) => direction === 'out')
  const [first] = own
  const asked = first && decodePayload(first.kind, threads.message(first.key).payload)
  if (first === undefined || asked?.kind !== kinds.delegate)
    throw new Error('the first message of a task is no delegation')
  const { document } = asked.payload
  const files = own.flatMap(message => threads.attachmentsOf(message.key))
  const attachments = namedIn(document).flatMap(
    ({ name, cid }) => files.find(file => file.name === name && cidText(file.cid) === cid) ?? [],
  )
  return { peer, document, text: threads.message(first.key).text, capability, attachments }
}

function namedIn(document: Uint8Array): readonly { name: string; cid: string }[] {
  const asked = parseRequestDocument(document)
  return 'task' in asked ? asked.attachments : []
}
