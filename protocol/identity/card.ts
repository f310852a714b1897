/**
 * A2A 1.0 agent cards as a hub takes them: flattened detached JWS by the agent's identity key over the RFC 8785 form of
 * the card without `signatures`. The specification's canonical form keeps required empty members, the common SDK drops
 * every empty and every unknown one: a card in which the two could differ is refused, and never written here.
 */

import * as z from 'zod'
import { sign, verify } from '#crypto'
import { fromBase64url, fromUtf8, Malformed, toBase64url, utf8 } from '../encoding/bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from '../encoding/json.ts'
import { isPlainLine, isPlainText, isVisibleLine } from '../encoding/plain-text.ts'
import { securityRequirements, securitySchemes } from './card-security.ts'
import type { VerifiedKel } from './kel.ts'

/** Bytes of a card at most, in its RFC 8785 form with signatures, objects §21. */
export const CARD_BYTES_MAX = 64 * 1024
/** Media type under which A2A serves a card. */
export const CARD_MEDIA_TYPE = 'application/a2a-agent-card+json'
const TEXT_MAX = 16 * 1024
const ITEMS_MAX = 128
const DEPTH_MAX = 8
const SIGNATURE_BYTES = 64

const text = z.string().min(1).max(TEXT_MAX)
const texts = z.array(text).min(1).max(ITEMS_MAX)

/** JSON without null and without anything empty, however deep. */
const full: z.ZodType<JsonValue> = z.custom<JsonValue>(value => isFull(value, 0), {
  error: 'expected no empty values and no null',
})

function isFull(value: unknown, depth: number): boolean {
  if (depth > DEPTH_MAX || value === null || value === '') return false
  if (typeof value !== 'object') return true
  // The common SDK copies member by member, where this name sets the prototype and is gone.
  if (Object.hasOwn(value, '__proto__')) return false
  const held = Object.values(value)
  return held.length > 0 && held.every(one => isFull(one, depth + 1))
}

const extension = z.strictObject({
  uri: text,
  description: text.optional(),
  required: z.literal(true).optional(),
  params: z.record(z.string(), full).refine(isParams).optional(),
})

function isParams(params: Record<string, JsonValue>): boolean {
  return Object.keys(params).length > 0
}

const skill = z.strictObject({
  id: text,
  name: text,
  description: text,
  tags: texts,
  examples: texts.optional(),
  inputModes: texts.optional(),
  outputModes: texts.optional(),
  securityRequirements: securityRequirements.optional(),
})

const unsigned = {
  name: text,
  description: text,
  version: text,
  supportedInterfaces: z
    .array(
      z.strictObject({ url: text, protocolBinding: text, protocolVersion: text, tenant: text.optional() }),
    )
    .min(1)
    .max(ITEMS_MAX),
  capabilities: z
    .strictObject({
      streaming: z.boolean().optional(),
      pushNotifications: z.boolean().optional(),
      extendedAgentCard: z.boolean().optional(),
      extensions: z.array(extension).min(1).max(ITEMS_MAX).optional(),
    })
    .refine(members => Object.keys(members).length > 0),
  defaultInputModes: texts,
  defaultOutputModes: texts,
  skills: z.array(skill).min(1).max(ITEMS_MAX),
  provider: z.strictObject({ url: text, organization: text }).optional(),
  documentationUrl: text.optional(),
  iconUrl: text.optional(),
  securitySchemes: securitySchemes.optional(),
  securityRequirements: securityRequirements.optional(),
}

/** A card before its signature. */
export const UnsignedCard = z.strictObject(unsigned)
/** What {@link signCard} takes; nothing in it is empty or null (objects §21). */
export type UnsignedCard = z.infer<typeof UnsignedCard>
/** A card with exactly one signature, whose members are base64url, objects §21. */
export const AgentCard = z.strictObject({
  ...unsigned,
  signatures: z.array(z.strictObject({ protected: text, signature: text })).length(1),
})
/** As parsed: {@link verifyCard} checks its signature. */
export type AgentCard = z.infer<typeof AgentCard>

/** Exactly these members: `crit`, `jwk`, `x5u`, `b64` and every other one refuse the card. */
const ProtectedHeader = z.strictObject({
  alg: z.literal('EdDSA'),
  typ: z.literal('JOSE'),
  kid: z.string(),
  jku: z.string(),
})

declare const verified: unique symbol
/** A card whose signature holds under the present key of its agent. */
export type VerifiedCard = AgentCard & { readonly [verified]: true }

/** Where the key of a card is found. */
export const jwksUrl = (baseUrl: string, aid: string): string => `${baseUrl}/agents/${aid}/jwks.json`
const keyId = (aid: string, seq: number): string => `${aid}#${seq}`

/** `seed` of 32 bytes, `seq` of the present key event, `baseUrl` of the hub (objects §21). */
export type CardSigner = { seed: Uint8Array; aid: string; seq: number; baseUrl: string }

/** Signs a card for one hub; a card that holds anything empty is refused. */
export function signCard(card: UnsignedCard, signer: CardSigner): AgentCard {
  const header = {
    alg: 'EdDSA',
    typ: 'JOSE',
    kid: keyId(signer.aid, signer.seq),
    jku: jwksUrl(signer.baseUrl, signer.aid),
  }
  return signedCard(card, header, signer.seed)
}

/** Signs a card under a protected header; a card that holds anything empty throws {@link Malformed}. */
export function signedCard(card: UnsignedCard, header: Record<string, string>, seed: Uint8Array): AgentCard {
  const read = UnsignedCard.safeParse(card)
  if (!read.success)
    throw new Malformed(
      `invalid card: ${read.error.issues[0]?.path.join('.') ?? 'form'} has a value that cards may not have`,
    )
  const protectedText = toBase64url(utf8(canonicalJson(header)))
  const signature = sign(seed, signingInput(protectedText, read.data))
  return { ...read.data, signatures: [{ protected: protectedText, signature: toBase64url(signature) }] }
}

/** The card when it is the agent's own, under its present key and for this hub; undefined otherwise. Fetches nothing. */
export function verifyCard(value: unknown, log: VerifiedKel, baseUrl: string): VerifiedCard | undefined {
  return verifiedCard(value, log, header => {
    const read = ProtectedHeader.safeParse(header)
    const { kid, jku } = read.data ?? {}
    return read.success && kid === keyId(log.aid, log.seq) && jku === jwksUrl(baseUrl, log.aid)
  })
}

/** The card when the present key of a log signed it under a protected header that fits; undefined otherwise. */
export function verifiedCard(
  value: unknown,
  log: VerifiedKel,
  fits: (header: JsonValue) => boolean,
): VerifiedCard | undefined {
  const read = AgentCard.safeParse(value)
  if (!read.success) return undefined
  const { signatures, ...card } = read.data
  const [given] = signatures
  if (given === undefined) return undefined
  try {
    const signature = fromBase64url(given.signature)
    const holds =
      fits(parseJson(fromBase64url(given.protected))) &&
      signature.length === SIGNATURE_BYTES &&
      verify(log.publicKey, signingInput(given.protected, card), signature)
    return holds ? (read.data as VerifiedCard) : undefined
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** Whether a card that was verified once still names this address; an operator may have moved the hub since. */
export function namesHub(card: AgentCard, aid: string, baseUrl: string): boolean {
  const { jku } = JSON.parse(fromUtf8(fromBase64url(card.signatures[0]?.protected ?? ''))) as { jku: string }
  return jku === jwksUrl(baseUrl, aid)
}

/** The JSON Web Key Set of an agent: its present key alone, because a card under a retired one must not verify. */
export function cardKeys(log: VerifiedKel) {
  const key = {
    kty: 'OKP' as const,
    crv: 'Ed25519' as const,
    x: toBase64url(log.publicKey),
    kid: keyId(log.aid, log.seq),
    alg: 'EdDSA' as const,
    use: 'sig' as const,
  }
  return { keys: [key] }
}

function signingInput(protectedText: string, card: UnsignedCard): Uint8Array {
  return utf8(`${protectedText}.${toBase64url(utf8(canonicalJson(card as JsonValue)))}`)
}

/** Whether all that a card shows is plain, its names, ids and tags on one line and not blank. */
export function isPlainCard(card: AgentCard): boolean {
  const { name, provider, skills } = card
  const lines = [
    name,
    provider?.organization ?? '',
    ...skills.flatMap(one => [one.id, one.name, ...one.tags]),
  ]
  return lines.every(isVisibleLine) && isPlain(card)
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'string') return isPlainText(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, held]) => isPlainLine(key) && isPlain(held))
}

/** Skill ids and tags by which a listing finds a card. */
export function cardTerms(card: AgentCard): { skills: string[]; tags: string[] } {
  return {
    skills: [...new Set(card.skills.map(one => one.id))],
    tags: [...new Set(card.skills.flatMap(one => one.tags))],
  }
}

/** The skill, and the name among prices, of a task in words. */
export const PLAIN_TASKS = 'task'
/** Prices of one card at most. */
const PRICES_MAX = 128

/** Whole credits of its hub that an agent asks, by capability; `task` is a task in words (objects §21). */
export type CardPrices = Readonly<Record<string, number>>

/** The prices that a card names, as far as they are prices; the quote that a task brings is what counts. */
export function cardPrices({ capabilities }: Pick<UnsignedCard, 'capabilities'>): CardPrices {
  const named = capabilities.extensions?.find(({ params }) => params?.['prices'] !== undefined)
  const prices = named?.params?.['prices']
  if (typeof prices !== 'object' || prices === null || Array.isArray(prices)) return {}
  const asked = Object.entries(prices).filter(
    ([what, amount]) => isVisibleLine(what) && Number.isSafeInteger(amount) && Number(amount) > 0,
  )
  return Object.fromEntries(asked.slice(0, PRICES_MAX)) as CardPrices
}

/** A card as it is kept and served: its RFC 8785 form, signatures included. */
export function cardText(card: AgentCard): string {
  return canonicalJson(card as JsonValue)
}

/** A card as {@link cardText} wrote it; it was judged before it was kept. */
export function keptCard(kept: string): AgentCard {
  return JSON.parse(kept) as AgentCard
}
