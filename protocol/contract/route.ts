/**
 * What a route is: one row holds method, path, authentication, shapes, codes and limits. Servers, clients, documents
 * and generated tests read the row; nothing else writes a path, an action or a code.
 */
import type * as z from 'zod'

/** Methods that routes have. */
export type Method = 'GET' | 'POST' | 'DELETE'

/**
 * `signed`: the signed-request scheme · `anonymous`: no sender identity may be sent · `none`: public ·
 * `credential`: session or capability · `bearer`: control token · `open`: loopback page outside the bearer.
 */
export type Auth = 'signed' | 'anonymous' | 'none' | 'credential' | 'bearer' | 'open'

/** What reads a JSON value, and gives the route its types. */
export type Shape = z.ZodType

/** One route, whole; {@link route} fills in `codes` and `limits`. */
export type RouteRow = {
  readonly method: Method
  /** Path with `{name}` segments, spelled as in the specification. */
  readonly path: string
  readonly auth: Auth
  /** Action in the signed text of a signed route. */
  readonly action?: string
  /** Which kind of signer a signed route takes; an agent where it says nothing. */
  readonly signedBy?: string
  /**
   * `core`: the signature is judged late, under a key log that comes with the request · `account`: an agent that has left
   * may sign as well.
   */
  readonly signer?: 'core' | 'account'
  /** `admission`: a signer who is unknown learns how to be admitted. */
  readonly unknownSigner?: 'admission'
  /** JSON request body; absent for GET and for raw bodies. */
  readonly request?: Shape
  /** The code for a list `items` of a wrong length, or for an item that lacks a member. */
  readonly itemCode?: string
  /** Members of earlier releases, each with the code that says that it is gone. */
  readonly removed?: { readonly [member: string]: string }
  /** The body is raw bytes of this content type, not JSON. */
  readonly raw?: string
  /** A member of the request whose base64 may be long: it is taken out while the body comes. */
  readonly streams?: string
  /** Its bodies come from people without keys, and have room of their own on their way in. */
  readonly apart?: true
  /** The answer may be held back for as long as the client wishes (`Prefer: wait`). */
  readonly held?: true
  readonly query?: Shape
  /** JSON reply; absent for text, pages and streams. */
  readonly reply?: Shape
  /** Type of a JSON answer that has one of its own. */
  readonly mediaType?: string
  readonly produces?: 'text' | 'html' | 'events' | 'bytes'
  /** Codes beyond the common ones that this route answers. */
  readonly codes: readonly string[]
  /**
   * `bodyBytes`, `besideBytes` of it without what is streamed, `items` of its one list, `values`: JSON values and names in a body, `weight`: requests it counts as,
   * `replyBytes` that a client reads.
   */
  readonly limits: { readonly bodyBytes: number; readonly [name: string]: number }
  /** Members of every refusal, `{network}` filled in, and the one that holds the code again. */
  readonly refused?: { readonly members: Readonly<Record<string, unknown>>; readonly reason: string }
  /** The body of its refusals, where a line has several. */
  readonly errors?: 'fed'
  /** A route that no document of the specification has. */
  readonly own?: true
}

/** Bytes of a body at most, where a row says nothing. */
export const BODY_BYTES_DEFAULT = 64 * 1024
/** JSON values and names of members in a body at most, where a row says nothing. */
export const BODY_VALUES_DEFAULT = 512

/** A row as it is written, where `codes` and `limits` may be absent. */
export type Given = Omit<RouteRow, 'codes' | 'limits'> & {
  codes?: readonly string[]
  limits?: Record<string, number>
}
type Row<R extends Given> = Omit<R, 'codes' | 'limits'> & Pick<RouteRow, 'codes' | 'limits'>

/** Declares a row, with the default limit where none is given. */
export function route<const R extends Given>(row: R): Row<R> {
  const bodyBytes = row.method !== 'POST' ? 0 : BODY_BYTES_DEFAULT
  return { ...row, codes: row.codes ?? [], limits: { bodyBytes, ...row.limits } }
}

type Inferred<S> = S extends z.ZodType<infer T> ? T : undefined
/** Type of the JSON body of a row; undefined where it has none. */
export type RequestOf<R> = R extends { request: infer S } ? Inferred<S> : undefined
/** Type of the query of a row; undefined where it has none. */
export type QueryOf<R> = R extends { query: infer S } ? Inferred<S> : undefined
/** Type of the JSON reply of a row; undefined where it has none. */
export type ReplyOf<R> = R extends { reply: infer S } ? Inferred<S> : undefined

/** Values of the `{name}` segments when `path` has the form of `pattern`, else undefined. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const expected = pattern.split('/')
  const given = path.split('/')
  if (expected.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of expected.entries()) {
    const value = given[i] as string
    if (part.startsWith('{') && part.endsWith('}')) {
      if (value === '') return undefined
      params[part.slice(1, -1)] = value
    } else if (part !== value) return undefined
  }
  return params
}

/** The path of a row with its `{name}` segments filled in. */
export function fillPath(pattern: string, params: Record<string, string> = {}): string {
  return pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new TypeError(`path ${pattern} needs ${name}`)
    return encodeURIComponent(value)
  })
}
