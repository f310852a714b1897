import { expect, test } from 'vitest'
import { addressRangeOf, RangeList } from './address-ranges.ts'

test.each([
  ['192.0.2.77', '192.0.2.77/32'],
  ['192.0.2.77/24', '192.0.2.0/24'],
  ['192.0.2.255/25', '192.0.2.128/25'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0:0::1', '2001:db8::1/128'],
  ['2001:db8:1234:5678::1/48', '2001:db8:1234::/48'],
  ['2001:db8:ffff::/33', '2001:db8:8000::/33'],
  ['::/0', '::/0'],
])('%s is the range %s', (text, range) => {
  expect(addressRangeOf(text)).toBe(range)
  expect(addressRangeOf(range)).toBe(range)
})

test.each(['', 'nobody', '192.0.2', '192.0.2.0/33', '192.0.2.0/', '192.0.2.0/-1', '::/129', 'fe80::1%lo/64'])(
  '%j is no range',
  text => expect(addressRangeOf(text)).toBeUndefined(),
)

test('an address is found in the ranges of its kind, also where IPv6 carries an IPv4 address', () => {
  const ranges = ['192.0.2.0/24', '2001:db8::/32']
  const list = new RangeList()
  const found = (address: string): boolean => list.holds(ranges, address)
  expect(['192.0.2.1', '::ffff:192.0.2.9', '2001:db8:1::1'].map(found)).toEqual([true, true, true])
  expect(['192.0.3.1', '2001:db9::1', '::1', 'unknown', ''].map(found)).toEqual(Array(5).fill(false))
  expect(list.holds([], '192.0.2.1')).toBe(false)
  expect(list.holds(['192.0.3.0/24'], '192.0.3.1')).toBe(true)
})
