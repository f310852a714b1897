/** What an operation of a node is, and the members that several of them share. */
import * as z from 'zod'
import { BODY_BYTES_DEFAULT, type Given, route } from '../contract/route.ts'
import { TEXT_CHARACTERS_MAX } from './bounds.ts'
import { interactionId } from './ids.ts'

/** How long a caller waits for what may take its time. */
export const LONG_MS = 15 * 60_000
/** Bytes of a body at most in which words are sent. */
export const TEXT_BODY_BYTES = TEXT_CHARACTERS_MAX

type Operation = Omit<Given, 'auth' | 'method' | 'path'> & {
  method?: 'GET' | 'POST'
  /** It changes nothing. */
  reads: boolean
  /** It changes something and still makes sense once the identity has ended. */
  afterEnd?: true
  timeoutMs?: number
}

/** Paths that the specification names; every other one is our own. */
const documented: readonly string[] = ['/status', '/results', '/shutdown', '/evidence']

/** Declares an operation of the control interface: its route, and whether it stays open once the identity has ended. */
export function operation<const P extends string, const O extends Operation>(path: P, given: O) {
  const method = given.method ?? 'POST'
  const limits = { bodyBytes: method === 'GET' ? 0 : BODY_BYTES_DEFAULT, ...given.limits }
  const own = documented.includes(path) ? {} : { own: true as const }
  const staysOpen = given.reads || given.afterEnd === true
  const asked = given.codes ?? []
  // an old copy asks its hub for nothing
  const unopened = asked.includes('hub_incompatible') ? ['old_copy'] : []
  const codes = [...asked, ...(staysOpen ? unopened : ['identity_deactivated', 'old_copy'])]
  return {
    ...route({ ...given, ...own, codes, method, path, auth: 'bearer', limits }),
    staysOpen,
    reads: given.reads,
    timeoutMs: given.timeoutMs,
  }
}

const HTTP = /^https?:$/

/** Hubs answer at the root of a host, and nobody's password belongs into an address; what is none is told elsewhere. */
function isBare(address: string): boolean {
  const url = URL.parse(address)
  if (url === null || !HTTP.test(url.protocol)) return true
  const { username, password, pathname, search, hash } = url
  return [username, password, search, hash].every(part => part === '') && pathname === '/'
}

const EXPECTED = 'expected the address of a hub, such as https://hub.example'
/** Whether a scheme in front makes an address of it. */
const lacksScheme = (given: unknown): boolean =>
  typeof given === 'string' && !given.includes('//') && URL.canParse(`https://${given}`)

/** Scheme (http or https), host and port of a hub, and nothing else. */
export const hubAddress = z
  .url({
    protocol: /^https?$/,
    error: ({ input }) => (lacksScheme(input) ? `${EXPECTED}: http:// or https:// is missing` : EXPECTED),
  })
  .refine(isBare, {
    message: 'expected scheme, host and port of a hub alone, such as https://hub.example: leave out the rest',
  })
/** The hub whose account is meant: one that was left or joined; the home without it. */
const hub = hubAddress.optional()
/** Query or body of what concerns one hub's account. */
export const atHub = z.strictObject({ hub })

/** Body of what concerns one task. */
export const byInteraction = z.strictObject({ interaction_id: interactionId })
/** Rows of one page of a list at most. */
export const PAGE_MAX = 50
/** Members of a request for one page of a list. */
export const paging = {
  limit: z.int().min(1).max(PAGE_MAX).optional(),
  cursor: z.string().max(64).optional(),
}

/** A whole number of a query. */
export const wholeText = (min: number, max: number) => {
  const said = `a whole number from ${min} to ${max}`
  const isWithin = (text: string) => /^[0-9]{1,3}$/.test(text) && Number(text) >= min && Number(text) <= max
  return z
    .string()
    .refine(isWithin, { error: `expected ${said}` })
    .describe(`text: ${said}`)
}

/** Words of a person or an agent. */
export const text = z.string().max(TEXT_CHARACTERS_MAX)
