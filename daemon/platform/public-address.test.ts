import { describe, expect, test } from 'vitest'
import { isListedHost, isPrivateHost, isPublicAddress } from './public-address.ts'

describe('an address of the public network', () => {
  test.each(['93.184.216.34', '1.1.1.1', '2606:4700::1111'])('%s is one', address =>
    expect(isPublicAddress(address)).toBe(true),
  )

  test.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
    '2001:0:1::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'localhost',
    '',
  ])('%s is none', address => expect(isPublicAddress(address)).toBe(false))
})

test.each([
  ['http://127.0.0.1:1/', true],
  ['http://2130706433:1/', true],
  ['http://0x7f.1:1/', true],
  ['http://[::ffff:127.0.0.1]:1/', true],
  ['http://[fd00::1]:1/', true],
  ['http://1.1.1.1:1/', false],
  ['http://[2606:4700::1111]:1/', false],
  ['http://agent.example:1/', false],
])('the host of %s is a number that is not public: %s', (url, is) =>
  expect(isPrivateHost(new URL(url))).toBe(is),
)

test('a host is listed with its port, or with every port', () => {
  const url = new URL('http://box.lan:4001/')
  expect(
    [['box.lan'], ['box.lan:4001'], ['box.lan:4002'], ['lan']].map(hosts => isListedHost(url, hosts)),
  ).toEqual([true, true, false, false])
})
