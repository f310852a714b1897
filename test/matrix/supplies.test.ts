import { testMatrix } from './cells.ts'
import { supplies } from './rows/mail.ts'

testMatrix(supplies)
