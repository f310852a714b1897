/** Address ranges as the operator writes them: one address, or a prefix with its length. */
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { groupsOf } from './address.ts'

const IPV4_BITS = 32
const IPV6_BITS = 128
const OCTET = 8
const GROUP = 16

/** The one spelling of a range, bits behind the prefix cleared; undefined where it is none. */
export function addressRangeOf(text: string): string | undefined {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const isShort = isIPv4(address)
  const bits = isShort ? IPV4_BITS : IPV6_BITS
  const prefix = length === undefined ? bits : Number(length)
  if (!(isShort || (isIPv6(address) && !/[%.]/.test(address))) || prefix > bits) return undefined
  if (isShort) return `${cut(address.split('.').map(Number), prefix, OCTET).join('.')}/${prefix}`
  const groups = cut(
    groupsOf(address).map(group => Number.parseInt(group, GROUP)),
    prefix,
    GROUP,
  )
  const whole = groups.map(group => group.toString(GROUP)).join(':')
  return `${new URL(`http://[${whole}]`).hostname.slice(1, -1)}/${prefix}`
}

/** Clears what lies behind a prefix, in parts of so many bits. */
function cut(parts: number[], prefix: number, width: number): number[] {
  return parts.map((part, index) => {
    const behind = Math.min(width, Math.max(0, width * (index + 1) - prefix))
    return (part >> behind) << behind
  })
}

/** Ranges ready to be asked; made anew only when they differ from those before. */
export class RangeList {
  #spelled = ''
  #list = new BlockList()

  /** Whether an address lies in one of the ranges. */
  holds(ranges: readonly string[], address: string): boolean {
    if (ranges.length === 0 || !(isIPv4(address) || isIPv6(address))) return false
    const spelled = ranges.join(' ')
    if (spelled !== this.#spelled) {
      this.#list = listOf(ranges)
      this.#spelled = spelled
    }
    return this.#list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    list.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  return list
}
