/**
 * The card of an agent at a hub that reads its mail (objects: open cards): it names its subject and a number of its own,
 * and no address of a key set, since such a hub serves none.
 */
import * as z from 'zod'
import { utf8 } from '../encoding/bytes.ts'
import { parseJson } from '../encoding/json.ts'
import {
  type AgentCard,
  CARD_BYTES_MAX,
  isPlainCard,
  signedCard,
  type UnsignedCard,
  verifiedCard,
} from './card.ts'
import type { VerifiedKel } from './kel.ts'

const EXTENSION = 'svc.card'

const Header = z.strictObject({ alg: z.literal('EdDSA'), typ: z.literal('JOSE'), kid: z.string() })
const Params = z.object({ subject_did: z.string(), seq: z.int().min(0) })

/** `seq` of the present key event, `number` of the card, which rises with each. */
export type OpenCardSigner = { seed: Uint8Array; aid: string; seq: number; number: number }

/** Signs a card for any hub, with the extension that names its subject. */
export function signOpenCard(
  { capabilities, ...card }: UnsignedCard,
  { seed, aid, seq, number }: OpenCardSigner,
): AgentCard {
  const named = { uri: EXTENSION, params: { subject_did: `did:svc:${aid}`, seq: number } }
  const extensions = [...(capabilities.extensions ?? []), named]
  const header = { alg: 'EdDSA', typ: 'JOSE', kid: `${aid}#${seq}` }
  return signedCard({ ...card, capabilities: { ...capabilities, extensions } }, header, seed)
}

/** Number of the card in a text that the agent of this log signed under its present key; throws Malformed for no JSON. */
export function verifyOpenCard(text: string, log: VerifiedKel): { number: number } | undefined {
  const bytes = utf8(text)
  if (bytes.length > CARD_BYTES_MAX) return undefined
  const card = verifiedCard(parseJson(bytes), log, header => {
    const read = Header.safeParse(header)
    return read.success && read.data.kid === `${log.aid}#${log.seq}`
  })
  if (card === undefined || !isPlainCard(card)) return undefined
  const named = (card.capabilities.extensions ?? []).filter(({ uri }) => uri === EXTENSION)
  const params = Params.safeParse(named[0]?.params)
  const isOwn = named.length === 1 && params.success && params.data.subject_did === `did:svc:${log.aid}`
  return isOwn ? { number: params.data.seq } : undefined
}
