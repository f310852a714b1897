/** Where a hub listens, and what it serves beside sealed mail: addresses, switches, and what of them goes together. */
import { resolve } from 'node:path'
import { shellWord } from '../protocol/shell.ts'
import { type BucketPlace, bucketOf, isBucket } from './bucket-config.ts'
import { ConfigRefused, type Given } from './config-refused.ts'

const PORT_MAX = 65_535
const ADMIN_BASE_DEFAULT = '/admin'

export type Listen = { host: string; port: number }
/** Where a listener is, and how others reach it. */
export type Place = { listen: Listen; baseUrl: string | undefined }
/** Where the operator's surface of wire 1 is; `base` begins with a slash and does not end with one. */
export type AdminPlace = { listen: Listen; base: string }
/**
 * A database with the rows of a hub; `listenUrl` reaches it without a pooler, `passwordFile` holds the password of its role,
 * `files` is a folder or a bucket that all processes share.
 */
export type DatabasePlace = {
  url: string
  listenUrl?: string | undefined
  passwordFile?: string | undefined
  files?: string | BucketPlace | undefined
  /** The flags, and the files of settings, whose address holds a password. */
  secretFlags?: readonly string[]
  secretFiles?: readonly string[]
}
/** As much of a configuration as is judged here. */
type Placed = {
  wires: readonly number[]
  listen: Listen
  wire1?: Place | undefined
  guests?: boolean
  wire1Federation?: object | undefined
  operatorListen?: Listen | undefined
  admin?: AdminPlace | undefined
}

/** `host:port`, with an IPv6 host in brackets; port 0 takes a free one. */
export function parseListen({ text, from }: Given): Listen {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]*)):([0-9]{1,5})$/.exec(text)
  const port = Number(parts?.[3])
  if (parts === null || port > PORT_MAX)
    throw new ConfigRefused(`${from}: expected host:port, got ${text}`, `use a port from 0 to ${PORT_MAX}`)
  const host = parts[1] ?? parts[2] ?? ''
  return { host: host === '' ? '0.0.0.0' : host, port }
}

export function parseBaseUrl({ text, from }: Given): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Routes, links and signatures all begin at the root.
  const isRoot = url?.href === `${url?.origin}/` && !/[?#\s]/.test(text)
  if (url === undefined || !isRoot || !/^https?:$/.test(url.protocol))
    throw new ConfigRefused(
      `${from}: expected a URL of scheme, host and port alone, got ${withoutSecret(text)}`,
      'write it as https://host or https://host:port',
    )
  return url.origin
}

/** Nothing that could be a password is repeated. */
const withoutSecret = (text: string): string =>
  text.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1…@').replace(/([?&]password=)[^&]*/gi, '$1…')

/** The listener beside the first one; a URL alone leads nowhere. */
export function wire1Of(listen: Given | undefined, baseUrl: Given | undefined): Place | undefined {
  if (listen !== undefined) return { listen: parseListen(listen), baseUrl: baseUrl && parseBaseUrl(baseUrl) }
  if (baseUrl === undefined) return undefined
  throw new ConfigRefused(`${baseUrl.from}: no listener of wire 1 is configured`, 'set wire1_listen as well')
}

export function checkFederation({ wires: [first], wire1, wire1Federation }: Placed, from: string): void {
  if (wire1Federation === undefined || first === 1 || wire1 !== undefined) return
  throw new ConfigRefused(
    `${from}: this hub does not serve wire 1`,
    'set wire1_listen as well, or serve wire 1 alone',
  )
}

/** Guests have no keys, so their messages can't be sealed. */
export function checkGuests({ wires: [first], wire1, guests }: Placed, from: string): void {
  if (guests !== true || first === 1 || wire1 !== undefined) return
  throw new ConfigRefused(
    `${from}: guests come over wire 1, which this hub does not serve`,
    'serve it with --wire 1, or beside wire 3 with --wire1-listen',
  )
}

/** The database; the rest leads nowhere without one. */
export function databaseOf(
  store: Given | undefined,
  rest: Record<'listen' | 'passwordFile' | 'files', Given | undefined>,
  env: Record<string, string | undefined>,
): DatabasePlace | undefined {
  const { listen, passwordFile, files } = rest
  if (store !== undefined) {
    const url = parseDatabase(store)
    const listenUrl = listen && parseDatabase(listen)
    const secret = [store, listen].filter(given => given !== undefined && hasPassword(given.text))
    return {
      url,
      listenUrl,
      passwordFile: passwordFile && resolve(passwordFile.text),
      files: files && (isBucket(files.text) ? bucketOf(files, env) : resolve(files.text)),
      secretFlags: secret.flatMap(given => (given?.from.startsWith('--') ? [given.from] : [])),
      secretFiles: secret.flatMap(given => given?.file ?? []),
    }
  }
  const alone = Object.values(rest).find(given => given !== undefined)
  if (alone === undefined) return undefined
  throw new ConfigRefused(`${alone.from}: no database is configured`, 'set store as well')
}

const hasPassword = (address: string): boolean => URL.parse(address)?.password !== ''

/** Why others of the machine see a password that was given by a flag, and what ends that; undefined where none was. */
export function flagOpenness({
  secretFlags = [],
}: DatabasePlace): { found: string; next: string } | undefined {
  if (secretFlags.length === 0) return undefined
  return {
    found: `other users of this machine see the password in ${secretFlags.join(' and ')}, as ps shows it`,
    next: 'write it into a file that this user alone reads, and name that with --store-password-file',
  }
}

/** Files that hold a secret by which the hub reaches its database and its bucket. */
export function secretFilesOf(place: DatabasePlace): string[] {
  const { url, listenUrl, passwordFile, files, secretFiles = [] } = place
  const keyOf = (address: string | undefined) =>
    address === undefined ? undefined : URL.parse(address)?.searchParams.get('sslkey')
  const bucket = typeof files === 'object' ? files.credentialsFile : undefined
  const named = [passwordFile, keyOf(url), keyOf(listenUrl), bucket, ...secretFiles]
  return [...new Set(named.filter(path => typeof path === 'string'))]
}

/** The flags beside its address by which a command is given this database again. */
export function besideStore({ listenUrl, passwordFile, files }: DatabasePlace): string {
  const given: [flag: string, text: string | undefined][] = [
    // addresses may hold a password
    ['--store-listen', listenUrl && '<URL>'],
    ['--store-password-file', passwordFile && shellWord(passwordFile)],
    ['--files', files && (typeof files === 'string' ? shellWord(files) : '<BUCKET>')],
  ]
  return given.map(([flag, text]) => (text === undefined ? '' : ` ${flag} ${text}`)).join('')
}

export function parseDatabase({ text, from }: Given): string {
  const isOne = /^postgres(?:ql)?:/.test(text) && URL.canParse(text)
  if (isOne) return text
  throw new ConfigRefused(
    `${from}: expected the URL of a PostgreSQL database, got ${withoutSecret(text)}`,
    'write it as postgres://user@host/database',
  )
}

const ON = 'on'
const OFF = 'off'
export const switchText = (isOn: boolean | undefined): string | undefined =>
  isOn === undefined ? undefined : isOn ? ON : OFF

export function isOn(given: Given | undefined): boolean {
  if (given === undefined) return false
  if (given.text === ON || given.text === OFF) return given.text === ON
  throw new ConfigRefused(`${given.from}: expected ${ON} or ${OFF}, got ${given.text}`, 'correct it')
}

/** Who is here is told only to hubs to which mail can go. */
export function federationOf(
  federation: Given | undefined,
  discovery: Given | undefined,
): { tells: boolean } | undefined {
  const tells = isOn(discovery)
  if (isOn(federation)) return { tells }
  if (!tells) return undefined
  throw new ConfigRefused(
    `${discovery?.from}: no mail of wire 1 crosses to other hubs`,
    'set wire1_federation as well',
  )
}

/** The operator's surface; a base alone leads nowhere. */
export function adminOf(listen: Given | undefined, base: Given | undefined): AdminPlace | undefined {
  const path = base === undefined ? ADMIN_BASE_DEFAULT : parseBase(base)
  if (listen !== undefined) return { listen: parseListen(listen), base: path }
  if (base === undefined) return undefined
  throw new ConfigRefused(
    `${base.from}: no surface of the operator is configured`,
    'set admin_listen as well',
  )
}

function parseBase({ text, from }: Given): string {
  if (/^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,8}$/.test(text) && text.length <= 128) return text
  throw new ConfigRefused(
    `${from}: expected a path that begins with a slash and does not end with one, got ${text}`,
    `use one such as ${ADMIN_BASE_DEFAULT}`,
  )
}

const isSame = (one: Listen, other: Listen): boolean =>
  one.port !== 0 && one.host === other.host && one.port === other.port

export function checkApart(
  { wires: [first], listen, wire1, operatorListen, admin }: Placed,
  from: { operator: string; wire1: string; admin: string },
): void {
  if (wire1 !== undefined && first === 1)
    throw new ConfigRefused(
      `${from.wire1}: the first listener speaks wire 1 already`,
      'leave it out, or serve wire 3 with the first one',
    )
  if (wire1 !== undefined && isSame(wire1.listen, listen))
    throw new ConfigRefused(
      `${from.wire1}: wire 1 can't share the address of the first listener`,
      'give it a port of its own',
    )
  const others = [listen, ...(wire1 === undefined ? [] : [wire1.listen])]
  if (operatorListen !== undefined && others.some(one => isSame(one, operatorListen)))
    throw new ConfigRefused(
      `${from.operator}: the operator's listener can't share the hub's address`,
      'give it a port of its own',
    )
  const taken = [...others, ...(operatorListen === undefined ? [] : [operatorListen])]
  if (admin !== undefined && taken.some(one => isSame(one, admin.listen)))
    throw new ConfigRefused(
      `${from.admin}: the operator's surface can't share the address of another listener`,
      'give it a port of its own',
    )
}
