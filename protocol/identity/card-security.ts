/**
 * Security schemes of an A2A card, in the shape that the specification's canonical form and the one of the common SDK
 * write alike: one scheme and one flow each, nothing empty, no `false` that a default would swallow.
 */
import * as z from 'zod'

const TEXT_MAX = 4 * 1024
const ITEMS_MAX = 64

const text = z.string().min(1).max(TEXT_MAX)
const described = { description: text.optional() }

/** Names to values; the name that is no own member in JavaScript would be lost on the way. */
function named<T extends z.ZodType>(value: T) {
  return z
    .record(text, value)
    .refine(members => isBetween(Object.keys(members).length), { error: 'expected 1 to 64 members' })
}

function isBetween(members: number): boolean {
  return members >= 1 && members <= ITEMS_MAX
}

const scopes = named(text)
const refreshable = { refreshUrl: text.optional(), scopes }
const flows = z.union([
  z.strictObject({
    authorizationCode: z.strictObject({
      authorizationUrl: text,
      tokenUrl: text,
      pkceRequired: z.literal(true).optional(),
      ...refreshable,
    }),
  }),
  z.strictObject({ clientCredentials: z.strictObject({ tokenUrl: text, ...refreshable }) }),
  z.strictObject({ implicit: z.strictObject({ authorizationUrl: text, ...refreshable }) }),
  z.strictObject({ password: z.strictObject({ tokenUrl: text, ...refreshable }) }),
  z.strictObject({
    deviceCode: z.strictObject({ deviceAuthorizationUrl: text, tokenUrl: text, ...refreshable }),
  }),
])

const scheme = z.union([
  z.strictObject({ apiKeySecurityScheme: z.strictObject({ ...described, location: text, name: text }) }),
  z.strictObject({
    httpAuthSecurityScheme: z.strictObject({ ...described, scheme: text, bearerFormat: text.optional() }),
  }),
  z.strictObject({
    oauth2SecurityScheme: z.strictObject({ ...described, flows, oauth2MetadataUrl: text.optional() }),
  }),
  z.strictObject({ openIdConnectSecurityScheme: z.strictObject({ ...described, openIdConnectUrl: text }) }),
  z.strictObject({ mtlsSecurityScheme: z.strictObject({ description: text }) }),
])

/** 1 to 64 names, each of one scheme, without anything empty (objects §21). */
export const securitySchemes = named(scheme)

/** Which schemes a client needs; a scheme without scopes has an empty list, which one of the two forms drops. */
export const securityRequirements = z
  .array(z.strictObject({ schemes: named(z.strictObject({ list: z.array(text).min(1).max(ITEMS_MAX) })) }))
  .min(1)
  .max(ITEMS_MAX)
