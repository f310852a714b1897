/** The site as it is built: every link leads somewhere, every page is found, nothing comes from elsewhere. */
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readDocuments } from './documents.ts'
import { readNavigation } from './navigation.ts'
import { type SiteFiles, siteFiles } from './site.ts'

const root = new URL('../..', import.meta.url).pathname
let files: SiteFiles
beforeAll(async () => {
  files = await siteFiles(root)
})

const text = (place: string): string => String(files.get(place))
const pages = (): string[] => [...files.keys()].filter(place => place.endsWith('.html'))
const attributes = (html: string, names: string): string[] =>
  [...html.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, 'g'))].map(([, value = '']) => value)
const isOutside = (link: string): boolean => /^[a-z]+:/i.test(link)

/** Where a link of a page leads within the site. */
const placeOf = (page: string, link: string): string =>
  posix.normalize(posix.join(dirname(page), link.split('#')[0] || posix.basename(page)))

test('every link and picture of every page leads to a file of the site, by a relative way', () => {
  const lost = pages().flatMap(page =>
    attributes(text(page), 'href|src|srcset')
      .filter(link => !isOutside(link) && (link.startsWith('/') || !files.has(placeOf(page, link))))
      .map(link => `${page} -> ${link}`),
  )
  expect(pages().length).toBeGreaterThan(80)
  expect(lost).toEqual([])
})

test('every heading that a link names is on the page where it leads', () => {
  const ids = new Map(pages().map(page => [page, new Set(attributes(text(page), 'id'))]))
  const lost = pages().flatMap(page =>
    attributes(text(page), 'href')
      .filter(link => !isOutside(link) && link.includes('#'))
      .filter(link => !ids.get(placeOf(page, link))?.has(link.slice(link.indexOf('#') + 1)))
      .map(link => `${page} -> ${link}`),
  )
  expect(lost).toEqual([])
})

test('every id is on a page once', () => {
  const twice = pages().filter(page => {
    const ids = attributes(text(page), 'id')
    return new Set(ids).size < ids.length
  })
  expect(twice).toEqual([])
})

test('no page loads anything from elsewhere, or has a script or style inside', () => {
  for (const page of pages()) {
    const html = text(page)
    expect([page, attributes(html, 'src|srcset').filter(isOutside)]).toEqual([page, []])
    expect([page, /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|<iframe|<base/.test(html)]).toEqual([
      page,
      false,
    ])
  }
  expect(text('site.css')).not.toMatch(/url\(|@import/)
  const scripts = text('site.js') + text('colours.js')
  expect(scripts.match(/https?:|XMLHttpRequest|sendBeacon|WebSocket|\beval\(/g)).toBe(null)
})

test('the navigation is the index of the documents, and names every page but single decisions', () => {
  const documents = readDocuments(root)
  const sections = readNavigation(documents)
  expect(sections.map(({ title }) => title)).toEqual([
    'Use it',
    'Host a hub',
    'Build on it',
    'Reference',
    'Explanation',
  ])
  const named = sections.flatMap(({ entries }) => entries).map(({ document }) => document.path)
  const missing = [...documents.all.keys()].filter(path => !named.includes(path))
  // what one page of the index leads to, and the index itself
  const apart = /^docs\/decisions\/\d|^(?:fixtures|adapters)\/.+\/README\.md$|^(?:docs\/)?README\.md$/
  expect(missing.filter(path => !apart.test(path))).toEqual([])
  expect(named.filter((path, i) => named.indexOf(path) !== i)).toEqual([])
})

test('llms.txt has a line for each page of the navigation, which leads to its Markdown', () => {
  const lines = text('llms.txt')
    .split('\n')
    .filter(line => line.startsWith('- ['))
  const sections = readNavigation(readDocuments(root))
  expect(lines.length).toBe(sections.flatMap(({ entries }) => entries).length)
  for (const line of lines) {
    expect(line).toMatch(/^- \[[^\]]+\]\([^)]+\.md\): \S/)
    expect(files.has(/\(([^)]+)\)/.exec(line)?.[1] ?? '')).toBe(true)
  }
})

test('every page is beside itself as Markdown, whose links stay within the site', () => {
  for (const page of pages()) expect(files.has(page.replace(/html$/, 'md'))).toBe(true)
  const lost = [...files.keys()]
    .filter(place => place.endsWith('.md'))
    .flatMap(place =>
      [
        ...text(place)
          .replace(/```[\s\S]*?```|`[^`\n]*`/g, '')
          .matchAll(/\]\(([^)\s]+)\)/g),
      ]
        .map(([, link = '']) => link)
        .filter(link => !isOutside(link) && !files.has(placeOf(place, link)))
        .map(link => `${place} -> ${link}`),
    )
  expect(lost).toEqual([])
})

describe('what is searched', () => {
  const parts = (): { to: string; page: string; heading: string; text: string }[] =>
    JSON.parse(text('search-parts.js').slice('globalThis.svcParts='.length))

  test('is every page in parts, each with the place where it begins', () => {
    const ids = new Map(pages().map(page => [page, new Set(attributes(text(page), 'id'))]))
    const lost = parts().filter(({ to }) => {
      const [page = '', id] = to.split('#')
      return !ids.has(page) || (id !== undefined && !ids.get(page)?.has(id))
    })
    expect(lost).toEqual([])
    expect(parts().length).toBeGreaterThan(400)
    expect(text('search-parts.js').length).toBeLessThan(1024 * 1024)
  })

  test('has words, commands and cells of tables, without the marks of Markdown', () => {
    const all = parts().map(part => part.text)
    expect(all.some(one => one.includes('npx svc-hub serve --admission open'))).toBe(true)
    expect(all.some(one => one.includes('SVC_HUB_BASE_URL'))).toBe(true)
    expect(all.filter(one => /\]\(|\*\*|^\||&amp;|&lt;/.test(one))).toEqual([])
  })
})

test('a link that leads nowhere ends the build and names its document', async () => {
  const { placeOf: placed } = await import('./documents.ts')
  expect(() => placed(root, 'docs/using.md', 'gone.md')).toThrow(
    'docs/using.md: the link gone.md leads nowhere',
  )
  expect(() => placed(root, 'docs/using.md', '../../x.md')).toThrow('leaves the tree')
})

test('the icon and the files that pages link to are those of the tree', () => {
  expect(text('files/hub/deploy/Caddyfile.txt')).toBe(
    readFileSync(join(root, 'hub/deploy/Caddyfile'), 'utf8'),
  )
  expect(JSON.parse(text('openapi-wire-3.json'))).toMatchObject({ openapi: '3.1.0' })
})
