/**
 * The names to which a hub answers: a page whose name was made to lead here asks under that name, and reads what the hub
 * shows to its own machine or network. Addresses in numbers are nobody's name.
 */
import { isIP } from 'node:net'
import { plainLine } from '../../protocol/encoding/plain-text.ts'

const SHOWN_MAX = 100

const ADDRESS_OF_HOST = /^\[(.+)\](?::\d+)?$|^([^:]+)(?::\d+)?$/
const isOfThisMachine = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

export type Named = {
  /** The address under which others know the hub, where it was configured. */
  baseUrl: string | undefined
  /** What it listens on. */
  listen: string
}

/**
 * Why a hub does not answer to a Host, if so; without a `base_url` one that others can reach has no name to compare with.
 */
export function ownNames({ baseUrl, listen }: Named): (host: string | undefined) => string | undefined {
  const isOpen = baseUrl === undefined && !isLoopback(listen)
  const own = new Set([listen, ...(baseUrl === undefined ? [] : [new URL(baseUrl).hostname])].map(plain))
  return host => {
    if (host === undefined || isOpen) return undefined
    const [, six, other] = ADDRESS_OF_HOST.exec(host) ?? []
    const name = plain(six ?? other ?? '')
    if (isIP(name) !== 0 || isOfThisMachine(name) || own.has(name)) return undefined
    return `it is for the name "${plainLine(host, SHOWN_MAX)}", to which this hub does not answer (base_url)`
  }
}

const plain = (name: string): string =>
  name
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase()
const isLoopback = (host: string): boolean =>
  /^127\./.test(host) || plain(host) === '::1' || isOfThisMachine(host)
