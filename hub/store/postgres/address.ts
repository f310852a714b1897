/**
 * The address of a database: `postgres://role@host:5432/name`. TLS with a certificate that is checked is the rule; only a
 * socket or this machine itself is reached without. What is said of an address names neither a password nor the address.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { systemCode, systemFault } from '../../../protocol/encoding/errors.ts'
import { present } from '../../../protocol/encoding/present.ts'
import { SetupRefused } from '../setup-refused.ts'

/** Contents of what the address names. */
type TlsFiles = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

export type Address = {
  host: string
  port: number
  user: string
  database: string
  password: string | undefined
  /** False where the connection is not encrypted. */
  tls: false | TlsFiles
}

const PORT = 5432
const PROTOCOLS = ['postgres:', 'postgresql:']
const OPTIONS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const
type Options = Partial<Record<(typeof OPTIONS)[number], string>>
/** All of these check certificate and name; the weaker ones ask for less than they get. */
const ENCRYPTED = ['verify-full', 'verify-ca', 'require']
/** The authorities that the machine trusts, which are asked anyway. */
const SYSTEM = 'system'

const FORM = 'give it as postgres://role@host:5432/name'

/** Reads an address, and the files that it names. */
export function addressOf(text: string): Address {
  const url = parsed(text)
  const options = optionsOf(url)
  const host = options.host ?? decoded(url.hostname).replace(/^\[(.+)\]$/, '$1')
  const user = decoded(url.username)
  const database = decoded(url.pathname.slice(1)) || user
  if (host === '' || user === '')
    throw new SetupRefused(`the address of the database has no host or role; ${FORM}`)
  return {
    ...{ host, user, database },
    port: url.port === '' ? PORT : Number(url.port),
    password: url.password === '' ? undefined : decoded(url.password),
    tls: isEncrypted(host, options.sslmode) ? filesOf(options) : false,
  }
}

function parsed(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !PROTOCOLS.includes(url.protocol))
    throw new SetupRefused(`the address of the database cannot be read; ${FORM}`)
  return url
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new SetupRefused('the address of the database has a stray %; write it as %25')
  }
}

function optionsOf(url: URL): Options {
  const given: Options = {}
  for (const [name, value] of url.searchParams) {
    const known = OPTIONS.find(option => option === name)
    if (known === undefined)
      throw new SetupRefused(
        `the address of the database has an option that is not known here: ${name}; leave it out, or use ${OPTIONS.join(', ')}`,
      )
    given[known] = value
  }
  return given
}

function isEncrypted(host: string, mode: string | undefined): boolean {
  if (host.startsWith('/') || mode === 'disable') return false
  if (mode === undefined) return !isLoopback(host)
  if (ENCRYPTED.includes(mode)) return true
  throw new SetupRefused(
    `sslmode=${mode} would let anybody in between read; use verify-full, or disable on a network that is yours alone`,
  )
}

/** Nothing leaves the machine. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.')) || host === '::1'

function filesOf({ sslrootcert, sslcert, sslkey }: Options): TlsFiles {
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new SetupRefused('the address of the database names one of sslcert and sslkey; name both')
  const read = (path: string | undefined) => path && contentOf(path)
  const ca = sslrootcert === SYSTEM ? undefined : sslrootcert
  return present({ ca: read(ca), cert: read(sslcert), key: read(sslkey) })
}

/** The password in a file, without the end of its line. */
export const passwordIn = (path: string): string => contentOf(path).replace(/\r?\n$/, '')

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SetupRefused(
      `${path} cannot be read: ${systemFault(systemCode(error) ?? '')}; name another file`,
    )
  }
}
