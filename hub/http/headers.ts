/** Reading request headers. */
import type { IncomingHttpHeaders } from 'node:http'

/** `wait` among the preferences of a request (RFC 7240). */
const WAIT = /(?:^|,)\s*wait\s*=\s*([0-9]{1,4})\s*(?:[,;]|$)/i

/** Header names as Node gives them. */
const lowered = new Map<string, string>()

/** One header as text; its name is one of a fixed set. */
export function header(given: IncomingHttpHeaders, name: string): string | undefined {
  let key = lowered.get(name)
  if (key === undefined) {
    key = name.toLowerCase()
    lowered.set(name, key)
  }
  const value = given[key]
  return Array.isArray(value) ? value.join(',') : value
}

/** How many seconds a client wants to wait for its answer; 0 where it does not say. */
export function preferredWait(given: IncomingHttpHeaders): number {
  return Number(WAIT.exec(header(given, 'prefer') ?? '')?.[1] ?? 0)
}

/** Types that HTTP libraries put in where nobody said what a body is. */
const UNSAID: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
])

/** Whether a body of this type may be JSON: its type says so, or says nothing. */
export function mayBeJson(type: string | undefined): boolean {
  return type === undefined || UNSAID.has(type) || /^(?:application|text)\/json$|\+json$/.test(type)
}

/** What a content type means: case and parameters say nothing more. */
export function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';')[0]?.trim().toLowerCase()
}
