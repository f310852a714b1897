/** The settings by which a hub says whose it is: name, contact, terms, address for abuse, where svc comes from. */
import * as z from 'zod'
import { present } from '../protocol/encoding/present.ts'
import { ConfigRefused, type Given } from './config-refused.ts'
import type { About } from './core/about.ts'

const NAME_MAX = 80
const ADDRESS_MAX = 256
const variable = (member: string): string => `SVC_HUB_${member.toUpperCase()}`

const members = ['name', 'contact', 'terms', 'abuse', 'source'] as const satisfies (keyof About)[]
const text = z.string().optional()
export const aboutShape = {
  name: text,
  contact: text,
  terms: text,
  abuse: text,
  source: text,
} satisfies Record<(typeof members)[number], z.ZodType>
export const aboutVariables = members.map(variable)

const parsers: Record<(typeof members)[number], (given: Given) => string> = {
  name: parseName,
  contact: parseContact,
  terms: parseUrl,
  abuse: parseContact,
  source: parseUrl,
}

/** What file and environment say; the environment is stronger. */
export function aboutFrom(env: Record<string, string | undefined>, file: About, path: string): About {
  const read = (member: (typeof members)[number]): string | undefined => {
    const from = env[variable(member)] === undefined ? `${path}: ${member}` : variable(member)
    const given = env[variable(member)] ?? file[member]
    return given === undefined ? undefined : parsers[member]({ text: given, from })
  }
  return present({
    name: read('name'),
    contact: read('contact'),
    terms: read('terms'),
    abuse: read('abuse'),
    source: read('source'),
  })
}

function parseName({ text, from }: Given): string {
  if (text.trim() !== '' && text.length <= NAME_MAX && !/\p{C}/u.test(text)) return text
  throw new ConfigRefused(
    `${from}: expected a name of 1 to ${NAME_MAX} characters without control characters`,
    'correct it',
  )
}

function isUrl(text: string): boolean {
  return text.length <= ADDRESS_MAX && /^https?:\/\/[^\s\p{C}]+$/u.test(text) && URL.canParse(text)
}

function parseUrl({ text, from }: Given): string {
  if (isUrl(text)) return text
  throw new ConfigRefused(`${from}: expected a URL, got ${text}`, 'write it as https://hub.example/terms')
}

/** Both kinds become links on the page, so an e-mail address has nothing in it that a link would read otherwise. */
function parseContact({ text, from }: Given): string {
  const isMail = text.length <= ADDRESS_MAX && /^[\w.+-]+@[\w.-]+$/.test(text)
  if (isMail || isUrl(text)) return text
  throw new ConfigRefused(
    `${from}: expected an e-mail address or a URL, got ${text}`,
    'write it as abuse@hub.example or https://hub.example/abuse',
  )
}
