import { testCells } from './cells.ts'
import { supplies } from './rows/mail.ts'

testCells(supplies)
