/**
 * Request and result documents (objects: receipt): RFC 8785 JSON carried byte for byte, named by their content ids.
 * What is delegated is one document, what is answered is another; the receipt binds the two.
 */
import * as z from 'zod'
import { DOCUMENT_BYTES_MAX } from '../contract/limits.ts'
import { textShape } from '../contract/shapes.ts'
import { cidText, contentId, parseCid } from '../crypto/hash.ts'
import { fromUtf8, Malformed, utf8 } from '../encoding/bytes.ts'
import { canonicalJson, type JsonValue, parseJson } from '../encoding/json.ts'

const ATTACHMENTS_MAX = 64
const cidShape = z.string().refine(isCid, { error: 'expected a content id' })
const attachments = z.array(z.strictObject({ name: textShape(255), cid: cidShape })).max(ATTACHMENTS_MAX)

function isCid(text: string): boolean {
  try {
    parseCid(text)
    return true
  } catch {
    return false
  }
}

/** A task in words, with at most 64 files by name (255 bytes) and content id (objects §10). */
export const TaskDocument = z.strictObject({ task: textShape(DOCUMENT_BYTES_MAX), attachments })
/** A call: 128 bytes of name pass here, and a receiver takes 64 characters of it (objects §10). */
export const CapabilityDocument = z.strictObject({
  capability: textShape(128),
  args: z.record(z.string(), z.json()),
})
/** The document of a delegation: a task in words or a call (objects §10). */
export const RequestDocument = z.union([TaskDocument, CapabilityDocument])
/** {@link TaskDocument} or {@link CapabilityDocument}, as it was read. */
export type RequestDocument = z.infer<typeof RequestDocument>

/** A message or an answer in words. */
export const TextDocument = z.strictObject({ text: textShape(DOCUMENT_BYTES_MAX), attachments })
/** Text in UTF-8 of at most 768 KiB, and its files. */
export type TextDocument = z.infer<typeof TextDocument>

/** The rendered effect of a capability call; its members are those of the one JSON rendering. */
export const EffectDocument = z.looseObject({
  status: z.enum(['OK', 'UNVERIFIED', 'FAILED', 'UNAVAILABLE', 'PAYMENT_REQUIRED']),
  message: z.string(),
})
/** What a provider answered: a rendered effect or words (objects §10). */
export const ResultDocument = z.union([EffectDocument, TextDocument])
/** {@link EffectDocument} or {@link TextDocument}, as it was read. */
export type ResultDocument = z.infer<typeof ResultDocument>

/** The bytes of a document; what is hashed, sent, stored and later handed to `verify --result`. */
export function documentBytes(document: RequestDocument | TextDocument): Uint8Array {
  return utf8(canonicalJson(document))
}

/** Text form of the content id of a document's bytes. */
export function documentCid(bytes: Uint8Array): string {
  return cidText(contentId(bytes))
}

function parse<T>(shape: z.ZodType<T>, bytes: Uint8Array, name: string): T {
  if (bytes.length > DOCUMENT_BYTES_MAX)
    throw new Malformed(`${name} is larger than ${DOCUMENT_BYTES_MAX} bytes`)
  const parsed = shape.safeParse(parseJson(bytes))
  if (!parsed.success) throw new Malformed(`${name} does not have the expected members`)
  // The shape drops a member called __proto__: what was signed and is not in the value is refused here too.
  if (canonicalJson(parsed.data as JsonValue) !== fromUtf8(bytes))
    throw new Malformed(`${name} is not canonical JSON`)
  return parsed.data
}

/** Throws {@link Malformed} over 768 KiB, for other members and for bytes that are not canonical. */
export const parseRequestDocument = (bytes: Uint8Array) => parse(RequestDocument, bytes, 'request document')
/** Throws {@link Malformed} like {@link parseRequestDocument}. */
export const parseTextDocument = (bytes: Uint8Array) => parse(TextDocument, bytes, 'message document')
/** Throws {@link Malformed} like {@link parseRequestDocument}; an effect may have further members. */
export const parseResultDocument = (bytes: Uint8Array) => parse(ResultDocument, bytes, 'result document')

/** The result of an interaction that ended without any answer. */
export const emptyResult: TextDocument = { text: '', attachments: [] }
