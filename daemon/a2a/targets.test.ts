import { describe, expect, test } from 'vitest'
import { isPublicAddress, post, targetOf } from './targets.ts'

describe('a push goes', () => {
  test.each(['93.184.216.34', '1.1.1.1', '2606:4700::1111'])('to the public address %s', address =>
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
  ])('to %s only where the owner listed it', address => expect(isPublicAddress(address)).toBe(false))

  test('to a host that the owner listed, also over http and at one port alone', () => {
    expect(targetOf('http://box.lan/told', ['box.lan']).isListed).toBe(true)
    expect(targetOf('http://127.0.0.1:8080/', ['127.0.0.1:8080']).isListed).toBe(true)
    expect(() => targetOf('http://127.0.0.1:8081/', ['127.0.0.1:8080'])).toThrow('only https is called')
    expect(() => targetOf('http://box.lan.evil.example/', ['box.lan'])).toThrow('only https is called')
  })

  test.each([
    ['https://2130706433/', 'not of the public network'],
    ['https://0x7f.1/', 'not of the public network'],
    ['https://[::ffff:127.0.0.1]/', 'not of the public network'],
    ['https://user@example.com/', 'holds no password'],
    ['gopher://example.com/', 'begins with https'],
    ['', 'begins with https'],
  ])('never to %s', (url, why) => expect(() => targetOf(url, [])).toThrow(why))
})

test('a name that leads to an address of this machine is not called', async () => {
  const target = targetOf('https://localhost:9/hook', [])
  const called = post(target, {}, '{}', AbortSignal.timeout(5_000))
  await expect(called).rejects.toThrow('the host is not of the public network')
})
