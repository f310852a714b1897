/** What hands mail of an address to a node of the same process, as `svc p2p serve` does to one of another. */
import type { Node } from '../../daemon/node.ts'
import { type Hands, LetterRefused } from '../../daemon/p2p/serve/server.ts'
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { never } from './world.ts'

type Answer = { confirmation?: string | undefined; refused?: LetterRefused['code'] | undefined }

const confirmed = ({ confirmation, refused }: Answer): string => {
  if (confirmation === undefined) throw new LetterRefused(refused ?? 'not_now')
  return confirmation
}

export const handsOf = ({ handlers }: Node): Hands => ({
  letter: async letter => confirmed(await handlers.p2pTake(letter, never)),
  async admit(head, size) {
    const { refused } = await handlers.p2pAdmit({ head: toBase64(head), size }, never)
    if (refused !== undefined) throw new LetterRefused(refused)
  },
  envelope: async envelope =>
    confirmed(await handlers.p2pTakeEnvelope({ envelope: toBase64(envelope) }, never)),
})
